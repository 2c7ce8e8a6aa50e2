import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { answerOf, keptIn } from "../src/api/kept";
import { floats } from "../src/api/parcel";
import type { Maps } from "../src/api/types";
import { readParcel } from "./fixtures";

const ASKED = { slot: "a", text: "Not bad.", pair: null, measure: "weight", reading: "direct", unit: "token" };
const FILE = ["demo", "maps-weight-a.parcel"] as const;

/** As Python writes it into the page. */
function written(): string {
  const request = { stack: null, ...ASKED };
  const parcel = gzipSync(readFileSync(join(import.meta.dirname, "fixtures", ...FILE))).toString("base64");
  return JSON.stringify({
    session: {},
    unit: "token",
    defaults: { maps: { pair: null, slot: "a", measure: "block_norm", reading: "direct", unit: "token", stack: null } },
    answers: [
      { view: "words", request, message: "of another view" },
      { view: "maps", request, parcel },
      { view: "maps", request: { ...request, reading: "flow" }, message: "the text is too long for that" },
    ],
  });
}

describe("answers that came with the page", () => {
  const kept = keptIn(written())!;

  it("are found whatever is left out, and in any order", async () => {
    const expected = readParcel<Maps>(...FILE);
    for (const request of [ASKED, { measure: "weight", text: "Not bad." }]) {
      const found = await answerOf<Maps>(kept, "maps", request);
      expect(found.artifact).toEqual(expected.artifact);
      expect(floats(found, "share")).toEqual(floats(expected, "share"));
    }
  });

  it("are refusals where the server would refuse", async () => {
    await expect(answerOf(kept, "maps", { ...ASKED, reading: "flow" })).rejects.toThrow("too long for that");
  });

  it("are none to other questions", async () => {
    for (const [view, request] of [
      ["maps", { ...ASKED, text: "Not good." }],
      ["heads", ASKED],
    ] as const) {
      await expect(answerOf(kept, view, request)).rejects.toThrow("This file holds one text");
    }
  });

  it("are not there in a page that a server sent", () => {
    expect(keptIn(undefined)).toBeNull();
    expect(keptIn("")).toBeNull();
  });
});
