import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "@playwright/test";

const PORT = Number(process.env.PORT ?? 8799);
export const repository = join(import.meta.dirname, "..");
export const python = process.env.PYTHON ?? join(repository, ".venv", "bin", "python");

/** The real server with the real demo models: what is tested is what people run. */
export default defineConfig({
  testDir: "e2e",
  timeout: 60_000,
  expect: { timeout: 15_000 },
  workers: 1,
  reporter: [["list"]],
  use: {
    baseURL: `http://127.0.0.1:${PORT}`,
    viewport: { width: 1280, height: 800 },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
  webServer: {
    command: `${python} -m attnscope serve --port ${PORT}`,
    url: `http://127.0.0.1:${PORT}/api/session`,
    cwd: repository,
    env: {
      PYTHONPATH: join(repository, "src"),
      XDG_CACHE_HOME: mkdtempSync(join(tmpdir(), "attnscope-e2e-")),
      HF_HUB_OFFLINE: "1",
      TRANSFORMERS_OFFLINE: "1",
    },
    reuseExistingServer: true,
    timeout: 120_000,
  },
});
