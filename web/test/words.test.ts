import { describe, expect, it } from "vitest";
import { floats } from "../src/api/parcel";
import type { Faithfulness, Words } from "../src/api/types";
import { PALETTES } from "../src/design/colour";
import { reckoned } from "../src/views/flow/lettering";
import { curvesOf } from "../src/views/words/curves";
import { said, titleOf } from "../src/views/words/Faithful";
import { barsLayout, REACH, rowAt, textLayout, wordAt } from "../src/views/words/layout";
import { signedNumber, WordMarks } from "../src/views/words/Marks";
import { profileOf, type Rows, rowsOf } from "../src/views/words/rows";
import { readParcel } from "./fixtures";
import { drawn } from "./views";

const A = readParcel<Words>("demo", "words-a.parcel");
const B = readParcel<Words>("demo", "words-b.parcel");
const NEGATIVE = readParcel<Words>("demo", "words-negative-b.parcel");
const GIVEN = { show: "both", received: "all", order: "text" } as const;

function laidOut(found: Rows, width = 688) {
  let top = 4;
  const texts = found.series.contribution.map((series) => {
    const one = textLayout(found, series, width, top, reckoned);
    top += one.height + 4;
    return one;
  });
  return { texts, bars: barsLayout(found, width, top + 8, 70) };
}

describe("rows of words", () => {
  it("have what each word adds, and both models' attention", () => {
    const found = rowsOf({ words: { a: A, b: B }, ...GIVEN })!;
    expect(found.series).toEqual({ contribution: ["b"], weight: ["a", "b"], norm: ["a", "b"] });
    expect(found.rows.map(({ name }) => name).slice(0, 5)).toEqual(["[CLS]", "The", "plot", "is", "thin"]);
    expect(found.rows[9]!.label).toBe("is (2)");
    expect(found.rows[9]!.name).toBe("is");
    expect(found.rows[10]!.values.contribution.b).toBe(floats(B, "contribution")[10]);
    expect(found.notes[0]).toMatch(/no head/);
  });

  it("add up to the logit", () => {
    const { decisions } = rowsOf({ words: { b: B }, ...GIVEN })!;
    expect(decisions[0]!.sum + decisions[0]!.bias!).toBeCloseTo(decisions[0]!.value, 4);
    expect(decisions[0]!.target).toBe("positive");
  });

  it("take attention from all layers, or from the token that decides", () => {
    const all = rowsOf({ words: { a: A }, ...GIVEN })!;
    const layers = profileOf(A, "weight", 0);
    expect(all.rows[0]!.values.weight.a).toBeCloseTo([...layers].reduce((sum, one) => sum + one) / layers.length, 6);
    const last = rowsOf({ words: { a: A }, ...GIVEN, received: "last" })!;
    expect(last.rows[4]!.values.norm.a).toBe(floats(A, "norm")[4]);
    expect(last.deciding).toBe("[CLS]");
  });

  it("are ordered by size where asked", () => {
    const { rows } = rowsOf({ words: { b: B }, ...GIVEN, order: "size" })!;
    const sizes = rows.map(({ values }) => Math.abs(values.contribution.b!));
    expect(sizes).toEqual(sizes.toSorted((one, other) => other - one));
    expect(rows[0]!.name).toBe("wonderful");
  });

  it("differ by what B has more, where both have it", () => {
    const same = rowsOf({ words: { a: B, b: NEGATIVE }, ...GIVEN, show: "diff" })!;
    expect(same.series.contribution).toEqual(["diff"]);
    expect(same.rows[10]!.values.contribution.diff).toBeCloseTo(
      floats(NEGATIVE, "contribution")[10]! - floats(B, "contribution")[10]!,
      5,
    );
    const headless = rowsOf({ words: { a: A, b: B }, ...GIVEN, show: "diff" })!;
    expect(headless.series).toEqual({ contribution: [], weight: ["diff"], norm: ["diff"] });
  });

  it("are not laid beside each other where the models cut the text differently", () => {
    const tokens = { ...A.artifact.tokens, labels: A.artifact.tokens.labels.map((label) => `${label}x`) };
    const other = { ...A, artifact: { ...A.artifact, tokens } };
    const found = rowsOf({ words: { a: other, b: B }, ...GIVEN })!;
    expect(found.series.weight).toEqual(["b"]);
    expect(found.notes[0]).toMatch(/cut this text differently/);
  });
});

describe("the shaded text", () => {
  const found = rowsOf({ words: { b: B }, ...GIVEN })!;

  it("keeps every word inside, in its order, on lines that do not overlap", () => {
    for (const width of [200, 400, 900]) {
      const { boxes, height } = textLayout(found, "b", width, 0, reckoned);
      expect(boxes.map(({ row }) => row.place)).toEqual(boxes.map((_, place) => place));
      boxes.forEach((box, place) => {
        expect(box.x + box.width).toBeLessThanOrEqual(width);
        expect(box.y + box.height + REACH).toBeLessThanOrEqual(height);
        const next = boxes[place + 1];
        if (next && next.y === box.y) expect(next.x).toBeGreaterThanOrEqual(box.x + box.width);
      });
    }
  });

  it("begins no line with a comma or a full stop", () => {
    for (let width = 140; width < 500; width += 7) {
      for (const { row, x } of textLayout(found, "b", width, 0, reckoned).boxes) {
        if (/^[.,]$/.test(row.name)) expect(x).toBeGreaterThan(0);
      }
    }
  });

  it("begins at the right where the script does", () => {
    const rows = found.rows.map((row) => (row.special ? row : { ...row, name: "شلوم" }));
    const { boxes } = textLayout({ ...found, rows }, "b", 300, 0, reckoned);
    boxes.forEach((box, place) => {
      const next = boxes[place + 1];
      if (next && next.y === box.y) expect(next.x + next.width).toBeLessThanOrEqual(box.x + 1e-9);
      expect(box.x).toBeGreaterThanOrEqual(0);
    });
    expect(boxes[0]!.x + boxes[0]!.width).toBe(300);
  });

  it("says which word is under a point", () => {
    const text = textLayout(found, "b", 688, 0, reckoned);
    for (const box of text.boxes) expect(wordAt(text, box.x + box.width / 2, box.y + 5)).toBe(box);
    expect(wordAt(text, 687, 300)).toBeNull();
  });

  it("has the largest contribution as its full reach", () => {
    const amounts = textLayout(found, "b", 688, 0, reckoned).boxes.map(({ amount }) => Math.abs(amount));
    expect(Math.max(...amounts)).toBe(1);
  });
});

describe("the bars", () => {
  it("have their columns in the width, with nothing at the zero of signed ones", () => {
    const found = rowsOf({ words: { a: A, b: B }, ...GIVEN })!;
    const { bars } = laidOut(found);
    const last = bars.columns.at(-1)!;
    expect(last.left + last.width).toBeLessThanOrEqual(688);
    const [contribution, weight, norm] = bars.columns;
    expect(contribution!.zero).toBeGreaterThan(contribution!.left);
    expect(weight!.zero).toBe(weight!.left);
    expect(weight!.scale).toBeCloseTo(norm!.scale, 6);
    const [low, high] = found.reach.contribution;
    expect(contribution!.zero + low * contribution!.scale).toBeGreaterThanOrEqual(contribution!.left);
    expect(contribution!.zero + high * contribution!.scale).toBeLessThanOrEqual(
      contribution!.left + contribution!.width,
    );
    expect(low).toBe(B.artifact.bias);
  });

  it("know which row is under a height", () => {
    const found = rowsOf({ words: { b: B }, ...GIVEN })!;
    const { bars } = laidOut(found);
    expect(rowAt(bars, 13, bars.top + bars.head + bars.row * 2.5)).toBe(2);
    expect(rowAt(bars, 13, bars.top)).toBeNull();
    expect(rowAt(bars, 13, bars.top + bars.head + bars.row * 13.5)).toBeNull();
  });

  it("write no minus before nothing", () => {
    expect([-0.001, 0, 0.004, -1.5, 2].map((value) => signedNumber(value, true))).toEqual([
      "0.00",
      "0.00",
      "0.00",
      "−1.50",
      "+2.00",
    ]);
  });
});

describe("the curves", () => {
  const parcel = readParcel<Faithfulness>("demo", "faithfulness-b.parcel");

  it("are inside, one for each method, with the control among them", () => {
    for (const way of ["comprehensiveness", "sufficiency"] as const) {
      const { curves, low, high } = curvesOf(parcel, way, 200, 100);
      expect(curves.map(({ method }) => method)).toEqual(parcel.artifact.methods);
      expect(curves.map(({ method }) => method)).toContain("random");
      for (const value of floats(parcel, way)) {
        expect(value).toBeGreaterThanOrEqual(low - 1e-6);
        expect(value).toBeLessThanOrEqual(high + 1e-6);
      }
      for (const { path } of curves) {
        for (const [, x, y] of path.matchAll(/([\d.-]+) ([\d.-]+)/g)) {
          expect(Number(x)).toBeLessThanOrEqual(200);
          expect(Number(y)).toBeGreaterThanOrEqual(-0.1);
          expect(Number(y)).toBeLessThanOrEqual(100.1);
        }
      }
    }
  });
});

describe("the drawing", () => {
  it.each([
    ["one model", { b: B }, "both"],
    ["two models", { a: A, b: B }, "both"],
    ["a difference", { a: B, b: NEGATIVE }, "diff"],
  ] as const)("of %s", (_, words, show) => {
    const found = rowsOf({ words, ...GIVEN, show })!;
    const drawing = drawn(WordMarks, {
      found,
      ...laidOut(found),
      palette: PALETTES.light,
      strong: "thin",
      received: "all" as const,
      measure: reckoned,
      width: 688,
    });
    expect(drawing).toMatchSnapshot();
  });
});

it("calls a predicted token by what can be read of it", () => {
  const parcel = { ...B, artifact: { ...B.artifact, target: "Ġgreat" } };
  expect(rowsOf({ words: { b: parcel }, ...GIVEN })!.decisions[0]!.target).toBe("great");
});

describe("a method", () => {
  it("is called by its title, and by its name where the server has none", () => {
    const lrp = { name: "attnlrp", title: "AttnLRP", summary: "", paper: "", signed: true, exact: false };
    expect(titleOf("attnlrp", [lrp])).toBe("AttnLRP");
    expect(titleOf("rollout_weight", [lrp])).toBe("rollout weight");
  });

  it("has its title in the server’s sentence too", () => {
    const titles = [
      { name: "attnlrp", title: "AttnLRP" },
      { name: "rollout_weight", title: "rollout weight" },
      { name: "weight", title: "weight" },
    ] as unknown as Parameters<typeof said>[1];
    expect(said("attnlrp has the highest AOPC", titles)).toBe("AttnLRP has the highest AOPC");
    expect(said("rollout_weight and weight are alike", titles)).toBe("Rollout weight and weight are alike");
  });
});
