// @vitest-environment node

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";

const STATIC = join(import.meta.dirname, "..", "..", "src", "attnscope", "server", "static");
const MOST = 400_000;

/** Only where it has been built: `npm run build`. */
describe.runIf(existsSync(STATIC))("the built page", () => {
  const files = readdirSync(STATIC, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const text = (name: RegExp) =>
    files.filter((file) => name.test(file.name)).map((file) => readFileSync(join(file.parentPath, file.name)));

  it("is small: scripts and style sheets under 400 kB, gzipped", () => {
    const size = text(/\.(js|css|html)$/).reduce((sum, bytes) => sum + gzipSync(bytes).length, 0);
    expect(size).toBeGreaterThan(50_000);
    expect(size).toBeLessThan(MOST);
  });

  it("asks nobody else for anything", () => {
    const outside = text(/\.(css|html)$/).flatMap(
      (bytes) => bytes.toString().match(/(url\(|src=|href=)["']?https?:[^"')\s]+/g) ?? [],
    );
    expect(outside).toEqual([]);
  });
});
