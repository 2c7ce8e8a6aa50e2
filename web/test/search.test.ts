import { describe, expect, it } from "vitest";
import { array, floats } from "../src/api/parcel";
import type { Search } from "../src/api/types";
import { PALETTES } from "../src/design/colour";
import { CountMarks, countsLayout } from "../src/views/search/Counts";
import { around, countsOf, hitsOf } from "../src/views/search/hits";
import { readParcel } from "./fixtures";
import { drawn } from "./views";

const PARCEL = readParcel<Search>("demo", "search-b.parcel");

describe("what a search found", () => {
  it("is read as words, layers and heads, the strongest first", () => {
    const hits = hitsOf(PARCEL);
    expect(hits).toHaveLength(floats(PARCEL, "share").length);
    expect(hits.length).toBeGreaterThan(0);
    for (const hit of hits) {
      expect(hit.key).toBe("but");
      expect(hit.share).toBeGreaterThanOrEqual(PARCEL.artifact.threshold);
      expect(PARCEL.artifact.layers).toContain(hit.layer);
      expect(PARCEL.artifact.heads).toContain(hit.head);
    }
    const [, layer, head, query] = array(PARCEL, "place").data;
    expect(hits[0]).toMatchObject({
      layer: layer! + 1,
      head: head! + 1,
      query: PARCEL.artifact.texts[0]!.tokens.labels[query!],
    });
    const shares = hits.map(({ share }) => share);
    expect(shares).toEqual(shares.toSorted((one, other) => other - one));
  });

  it("has no head where all are together", () => {
    const together = { ...PARCEL, artifact: { ...PARCEL.artifact, heads: [] } };
    expect(hitsOf(together)[0]!.head).toBeNull();
  });

  it("is counted by head", () => {
    const { values, most } = countsOf(PARCEL);
    expect([...values].reduce((sum, one) => sum + one)).toBe(PARCEL.artifact.hits);
    expect(most).toBe(Math.max(...values));
  });

  it("is shown with the words around it", () => {
    const words = ["a", "b", "c", "d", "e"];
    expect(around(words, 2, 1)).toEqual(["… b", "c", "d …"]);
    expect(around(words, 0, 2)).toEqual(["", "a", "b c …"]);
    expect(around(words, 4, 9)).toEqual(["a b c d", "e", ""]);
  });

  it("is drawn", () => {
    const { layers, heads } = PARCEL.artifact;
    const drawing = drawn(CountMarks, {
      layers,
      heads,
      counts: countsOf(PARCEL),
      layout: countsLayout(700, layers.length, heads.length),
      palette: PALETTES.dark,
      scale: PALETTES.dark.amountsB,
    });
    expect(drawing).toMatchSnapshot();
  });
});
