/** Puts the built page into one file: scripts, styles, fonts and the icon, and a place for the answers. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Plugin } from "vite";

export const SINGLE = "single";
/** Where `attnscope export` writes the answers. */
const PLACE = '<script type="application/json" id="kept"></script>';

export function singleFile(): Plugin {
  return {
    name: "single-file",
    enforce: "post",
    generateBundle: {
      order: "post", // when the build's own plugins are done with the code
      handler(_, bundle) {
        const page = bundle["index.html"];
        if (page?.type !== "asset") throw new Error("there is no index.html to put everything into");
        const scripts: string[] = [];
        const styles: string[] = [];
        for (const [name, found] of Object.entries(bundle)) {
          if (found === page) continue;
          if (found.type === "chunk") scripts.push(found.code);
          else if (name.endsWith(".css")) styles.push(String(found.source));
          else throw new Error(`${name} can't be put into one file`);
          delete bundle[name];
        }
        if (scripts.length !== 1 || styles.length !== 1) throw new Error("expected one script and one style sheet");
        page.source = inOne(String(page.source), scripts[0]!, styles[0]!);
      },
    },
  };
}

function inOne(page: string, script: string, style: string): string {
  // The page asks nobody for anything, and what it runs is known.
  const code = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "\\x3C!--").trim();
  const policy = [
    "default-src 'none'",
    `script-src ${hash(code)}`,
    `style-src ${hash(style)}`,
    "worker-src blob:",
    "font-src data:",
    "img-src data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const icon = readFileSync(new URL("public/icon.svg", import.meta.url)).toString("base64");
  return page
    .replace(/<script type="module"[^>]*><\/script>\s*/, "")
    .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${style}</style>`)
    .replace("/icon.svg", `data:image/svg+xml;base64,${icon}`)
    .replace(
      '<meta charset="utf-8" />',
      (meta) => `${meta}\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`,
    )
    .replace("</body>", () => `  ${PLACE}\n    <script type="module">${code}</script>\n  </body>`);
}

function hash(content: string): string {
  return `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
}
