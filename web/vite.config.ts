import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { SINGLE, singleFile } from "./single.ts";

/** Where `attnscope serve` answers while the browser side is being developed. */
const server = process.env.ATTNSCOPE_URL ?? "http://127.0.0.1:8765";

/** `--mode single` builds the page that `attnscope export` fills: everything in one file, which opens from a folder. */
export default defineConfig(({ mode }) => ({
  plugins: [react(), ...(mode === SINGLE ? [singleFile()] : [])],
  resolve: { alias: mode === SINGLE ? [{ find: /\?worker$/, replacement: "?worker&inline" }] : [] },
  build: {
    outDir: `../src/attnscope/server/${mode === SINGLE ? "single" : "static"}`,
    emptyOutDir: true,
    target: "es2022",
    // A font inside a style sheet would need a looser content policy, which only the single file has.
    assetsInlineLimit: mode === SINGLE ? () => true : 0,
    cssCodeSplit: mode !== SINGLE,
    copyPublicDir: mode !== SINGLE,
    rolldownOptions: mode === SINGLE ? { output: { codeSplitting: false } } : {},
    chunkSizeWarningLimit: 1400,
  },
  // The Host stays that of the page: the server answers no page but its own.
  server: { proxy: { "/api": { target: server, changeOrigin: false } } },
  test: {
    environment: "jsdom",
    include: ["test/**/*.test.{ts,tsx}"],
    restoreMocks: true,
  },
}));
