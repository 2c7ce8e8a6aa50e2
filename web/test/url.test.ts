import { describe, expect, it } from "vitest";
import { type Choices, DEFAULTS, format, parse } from "../src/state/url";

const EVERYTHING: Choices = {
  text: "Nicht schlecht & „gut“ = 100 %?",
  pair: "二番目の文",
  view: "heads",
  draw: "sankey",
  measure: "head_norm",
  reading: "cumulative",
  unit: "word",
  threshold: 0.125,
  layers: [2, 5],
  heads: [1, 3, 12],
  target: "logit:positive",
  show: "diff",
  word: "the (2)",
  stat: "entropy_norm",
  head: [5, 3],
  method: "attnlrp",
  order: "size",
  received: "last",
  find: "not",
  least: 0.25,
  direction: "from",
  where: "corpus",
  theme: "dark",
  story: 2,
};

describe("the address", () => {
  it("is empty where nothing was chosen", () => {
    expect(format(DEFAULTS)).toBe("");
    expect(parse("")).toEqual(DEFAULTS);
  });

  it("brings every choice back", () => {
    expect(Object.keys(EVERYTHING)).toEqual(Object.keys(DEFAULTS));
    expect(parse(format(EVERYTHING))).toEqual(EVERYTHING);
  });

  it.each(Object.keys(DEFAULTS) as (keyof Choices)[])("names %s alone where only that was chosen", (key) => {
    const query = format({ ...DEFAULTS, [key]: EVERYTHING[key] });
    expect([...new URLSearchParams(query).keys()]).toEqual([key]);
  });

  it("tells an empty text from none", () => {
    expect(parse("?text=").text).toBe("");
    expect(format({ ...DEFAULTS, text: "" })).toBe("?text=");
  });

  it.each([
    "?threshold=2",
    "?least=0",
    "?threshold=",
    "?threshold=a",
    "?layers=5-2",
    "?layers=0-2",
    "?heads=1,,2",
    "?draw=<script>",
    "?measure=../x",
    "?head=3",
    "?story=12",
    "?nothing=1",
    "?%E0%A4%A",
  ])("leaves everything as it was at %s", (query) => {
    expect(parse(query)).toEqual(DEFAULTS);
  });

  it("writes numbers shortly", () => {
    expect(format({ ...DEFAULTS, threshold: 0.1 + 0.2 })).toBe("?threshold=0.3");
  });
});
