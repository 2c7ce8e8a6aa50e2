import { describe, expect, it } from "vitest";
import type { MeasureInfo, Session } from "../src/api/types";
import { units } from "../src/parts/UnitChooser";
import { measurable, obstacle, subjectOf } from "../src/state/subject";
import { DEFAULTS } from "../src/state/url";
import { readings } from "../src/views/flow/options";

function measure(name: string, more: Partial<MeasureInfo> = {}): MeasureInfo {
  return {
    name,
    title: name,
    summary: "",
    formula: "",
    paper: "",
    per_head: false,
    readings: ["direct", "cumulative", "flow"],
    units: ["token", "word"],
    available: { a: true, b: true, reason: null },
    ...more,
  };
}

const EXACT = measure("decomposed", { readings: ["cumulative"], units: ["token"] });

function session(words_shared = true): Session {
  const model = { name: "one", layers: 2, heads: 4, words_shared } as Session["models"]["a"];
  return {
    models: { a: model, b: model },
    measures: [measure("weight"), EXACT, measure("alti", { available: { a: false, b: true, reason: "no" } })],
    most_flow: 64,
    demo: null,
  } as unknown as Session;
}

describe("what is looked at", () => {
  it("is read as the measure can be", () => {
    const exact = subjectOf(session(), { ...DEFAULTS, measure: "decomposed", reading: "flow", unit: "word" });
    expect(exact.reading).toBe("cumulative");
    expect(measurable(exact).unit).toBe("token");
    // Other views are not of the measure.
    expect(exact.unit).toBe("word");
    const plain = subjectOf(session(), { ...DEFAULTS, reading: "flow", unit: "word" });
    expect([plain.reading, measurable(plain).unit]).toEqual(["flow", "word"]);
  });

  it("is by another measure where the one asked for can’t be had", () => {
    for (const name of ["alti", "nonsense"])
      expect(subjectOf(session(), { ...DEFAULTS, measure: name }).measure.name).toBe("weight");
    expect(obstacle(session().measures[2]!, session().models)).toBe("no");
  });

  it("is in words where the models cut texts differently, and never by what is of tokens alone", () => {
    const found = subjectOf(session(false), { ...DEFAULTS, measure: "decomposed" });
    expect([found.unit, found.measure.name]).toEqual(["word", "weight"]);
    expect(obstacle(EXACT, session(false).models)).toContain("is of tokens");
    expect(units(found, found.measure).find(({ value }) => value === "token")!.disabled).toBe(true);
  });
});

describe("readings", () => {
  const on = (name: string, tokens: number) =>
    readings(subjectOf(session(), { ...DEFAULTS, measure: name }), tokens)
      .filter(({ disabled }) => !disabled)
      .map(({ value }) => value);

  it("are those of the measure, and maximum flow only as far as the server goes", () => {
    expect(on("weight", 64)).toEqual(["direct", "cumulative", "flow"]);
    expect(on("weight", 65)).toEqual(["direct", "cumulative"]);
    expect(on("decomposed", 10)).toEqual(["cumulative"]);
  });
});
