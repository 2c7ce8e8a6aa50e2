import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** Where `attnscope serve` answers while the browser side is being developed. */
const server = process.env.ATTNSCOPE_URL ?? "http://127.0.0.1:8765";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/attnscope/server/static",
    emptyOutDir: true,
    target: "es2022",
    // A font inside a style sheet would need a looser content policy.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
  },
  // The Host stays that of the page: the server answers no page but its own.
  server: { proxy: { "/api": { target: server, changeOrigin: false } } },
  test: {
    environment: "jsdom",
    include: ["test/**/*.test.{ts,tsx}"],
    restoreMocks: true,
  },
});
