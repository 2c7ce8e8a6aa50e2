// @vitest-environment node

import { readFileSync } from "node:fs";
import { join } from "node:path";
import openapiTS, { astToString } from "openapi-typescript";
import { expect, it } from "vitest";

const WEB = join(import.meta.dirname, "..");

/** Formatting aside: the two are written by different hands. */
function bare(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, "").replace(/[\s,;()"|]+/g, "");
}

// The generator reads files through the runtime's own URL, which a browser-like environment replaces.
it("has the types of the server’s own description: npm run types writes them again", async () => {
  const description = JSON.parse(readFileSync(join(WEB, "openapi.json"), "utf8")) as Parameters<typeof openapiTS>[0];
  const fresh = astToString(await openapiTS(description));
  expect(bare(readFileSync(join(WEB, "src", "api", "schema.ts"), "utf8"))).toBe(bare(fresh));
}, 20_000);
