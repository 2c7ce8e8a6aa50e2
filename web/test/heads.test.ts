import { describe, expect, it, vi } from "vitest";
import { floats, type Parcel } from "../src/api/parcel";
import type { Change, Head, Heads } from "../src/api/types";
import { lookup, PALETTES } from "../src/design/colour";
import { reckoned } from "../src/views/flow/lettering";
import { figureLayout, HeatMarks, value } from "../src/views/heads/Heat";
import { cellUnder, depth, following, heatLayout, largest, pixels, whole, zoomed } from "../src/views/heads/heatmap";
import { MatrixMarks, written } from "../src/views/heads/Matrix";
import { mapsOf } from "../src/views/heads/maps";
import { cellAt, matrixLayout, moved } from "../src/views/heads/matrix";
import { panelsOf } from "../src/views/heads/panels";
import { roleAt, rolesOf, statistics, valuesOf } from "../src/views/heads/statistics";
import { readParcel } from "./fixtures";
import { drawn } from "./views";

const A = readParcel<Heads>("demo", "heads-a.parcel");
const B = readParcel<Heads>("demo", "heads-b.parcel");
const CHANGE = readParcel<Change>("demo", "change.parcel");
const STATISTICS = statistics(A.artifact, true);
const named = (name: string) => STATISTICS.find((one) => one.name === name)!;

describe("statistics of heads", () => {
  it("are named by what they count, all differently", () => {
    const names = STATISTICS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain("mass-cls");
    expect(names).toContain("mass-comma-and-full-stop");
    expect(statistics(A.artifact, false).map(({ name }) => name)).not.toContain("divergence");
    for (const name of names) expect(name).toMatch(/^[\w-]{1,40}$/);
  });

  it("are taken from the right place", () => {
    const { categories, heads } = A.artifact;
    const mass = floats(A, "mass_norm");
    const found = valuesOf(A, named("mass-sep"), "norm");
    const [layer, head] = [3, 7];
    expect(found[layer * heads.length + head]).toBe(
      mass[(layer * heads.length + head) * categories.length + categories.indexOf("[SEP]")],
    );
    expect(valuesOf(A, named("next"), "weight")[5]).toBe(floats(A, "offset_weight")[5 * 3 + 2]);
    expect(valuesOf(A, named("entropy"), "norm")).toEqual(floats(A, "entropy_norm"));
    expect(valuesOf(A, named("disagreement"), "weight")).toEqual(floats(A, "disagreement"));
  });

  it("give every head its role, and leave those without one out", () => {
    const found = rolesOf(A.artifact);
    const listed = found.flatMap(([role, places]) => places.map(([layer, head]) => [role, layer, head]));
    expect(listed).toHaveLength(A.artifact.roles.flat().filter((role) => role !== "mixed").length);
    for (const [role, layer, head] of listed) {
      expect(roleAt(A.artifact, layer as number, head as number)).toBe(role);
    }
    expect(listed).toContainEqual(["previous", 1, 3]);
  });
});

describe("panels", () => {
  const given = { heads: { a: A, b: B }, change: { weight: CHANGE }, statistic: named("mass-cls") };

  it("stand side by side by weight and norm, and under each other by model, on one scale", () => {
    const found = panelsOf({ ...given, show: "both" })!;
    expect(found.rows.map((row) => row.map(({ key }) => key))).toEqual([
      ["a-weight", "a-norm"],
      ["b-weight", "b-norm"],
    ]);
    const all = found.rows.flat().flatMap(({ values }) => [...values]);
    expect(found.most).toBe(Math.max(...all));
    const [first] = found.rows[0]!;
    expect(first!.means[2]).toBeCloseTo([...first!.values.slice(24, 36)].reduce((sum, one) => sum + one) / 12, 6);
  });

  it("differ by what B has more", () => {
    const found = panelsOf({ ...given, show: "diff" })!;
    const [weight] = found.rows[0]!;
    const [a, b] = [A, B].map((parcel) => valuesOf(parcel, named("mass-cls"), "weight"));
    weight!.values.forEach((value, place) => {
      expect(value).toBeCloseTo(b![place]! - a![place]!, 6);
    });
    expect(found.furthest).toBeCloseTo(
      Math.max(...[...found.rows[0]!].flatMap((panel) => [...panel.values].map(Math.abs))),
    );
  });

  it("are not laid over each other where the models have other heads", () => {
    const other = { ...B, artifact: { ...B.artifact, layers: [1, 2, 3] } };
    expect(panelsOf({ ...given, heads: { a: A, b: other }, show: "diff" })).toBeNull();
    expect(panelsOf({ ...given, heads: { a: A, b: other }, show: "both" })!.layers).toHaveLength(6);
  });

  it("show how far the models lie apart", () => {
    const found = panelsOf({ ...given, statistic: named("divergence"), show: "both" })!;
    expect(found.rows[0]).toHaveLength(1);
    expect(found.rows[0]![0]!.values).toEqual(floats(CHANGE, "jensen_shannon"));
  });

  it("are of the only model where there is one", () => {
    for (const show of ["both", "a", "b", "diff"] as const) {
      const found = panelsOf({ ...given, heads: { a: A }, show })!;
      expect(found.rows.map((row) => row[0]!.scale)).toEqual(["a"]);
    }
  });
});

describe("the matrix", () => {
  const layout = matrixLayout({ width: 688, height: 600, rows: 2, columns: 2, layers: 6, heads: 12 });

  it("fits into its width, whatever that is", () => {
    for (const width of [320, 688, 1400]) {
      const found = matrixLayout({ width, height: 600, rows: 1, columns: 2, layers: 6, heads: 12 });
      if (width > 500) expect(found.width).toBeLessThanOrEqual(width);
      expect(found.cell).toBeGreaterThanOrEqual(9);
    }
  });

  it("fills a large window, with cells that are no wider than high", () => {
    const size = { width: 1328, height: 830, rows: 2, columns: 2, layers: 6, heads: 12 };
    const found = matrixLayout(size);
    expect(found.width).toBeGreaterThan(0.95 * size.width);
    expect(found.width).toBeLessThanOrEqual(size.width);
    expect(found.tall).toBeGreaterThanOrEqual(found.cell);
    expect(found.height).toBeLessThanOrEqual(size.height);
    expect(matrixLayout({ ...size, layers: 24 }).cell).toBe(30);
  });

  it("finds each cell under its middle, and none between panels", () => {
    layout.corners.forEach((corners, row) => {
      corners.forEach(([left, top], column) => {
        for (const [layer, head] of [
          [0, 0],
          [5, 11],
          [2, 7],
        ] as const) {
          expect(cellAt(layout, left + (head + 0.5) * layout.cell, top + (layer + 0.5) * layout.tall)).toEqual({
            row,
            column,
            layer,
            head,
          });
        }
      });
    });
    expect(cellAt(layout, 1, 1)).toBeNull();
  });

  it("is walked through by arrow keys, up to its edges", () => {
    expect(moved([0, 0], "ArrowUp", 6, 12)).toEqual([0, 0]);
    expect(moved([0, 0], "ArrowRight", 6, 12)).toEqual([0, 1]);
    expect(moved([5, 11], "ArrowDown", 6, 12)).toEqual([5, 11]);
    expect(moved([2, 3], "ArrowLeft", 6, 12)).toEqual([2, 2]);
    expect(moved([2, 3], "Enter", 6, 12)).toEqual([2, 3]);
  });

  it("writes shares and nats as short as they can be read", () => {
    expect([0, 0.0002, 0.031, 0.4567, 1].map((value) => written(value, "share"))).toEqual([
      "0 %",
      "<0.1 %",
      "3.1 %",
      "46 %",
      "100 %",
    ]);
    expect([-0.05, 0.2].map((value) => written(value, "share", true))).toEqual(["−5.0 %", "+20 %"]);
    expect(written(0.3061, "nats")).toBe("0.31");
  });

  it.each(["both", "diff"] as const)("is drawn: %s", (show) => {
    const panels = panelsOf({ heads: { a: A, b: B }, change: {}, statistic: named("mass-cls"), show })!;
    const drawing = drawn(MatrixMarks, {
      panels,
      statistic: named("mass-cls"),
      layout: matrixLayout({ width: 688, height: 600, rows: panels.rows.length, columns: 2, layers: 6, heads: 12 }),
      palette: PALETTES.light,
      active: null,
    });
    expect(drawing).toMatchSnapshot();
  });
});

describe("heat maps", () => {
  it("have squares of whole pixels and labels where there is room", () => {
    const found = heatLayout({ width: 330, height: 330, queries: 13, keys: 13, widest: 60 }, whole(13, 13));
    expect(Number.isInteger(found.cell)).toBe(true);
    expect(found.type).toBeGreaterThan(0);
    expect(found.left + found.width).toBeLessThanOrEqual(330);
  });

  it("go without labels where there is none, and take all the room", () => {
    const found = heatLayout({ width: 330, height: 330, queries: 512, keys: 512, widest: 60 }, whole(512, 512));
    expect(found.type).toBe(0);
    expect(found.width).toBeCloseTo(330 - 16);
  });

  it("know which cell is under a point", () => {
    const range = { query: [4, 6], key: [2, 6] } as const;
    const found = heatLayout({ width: 330, height: 330, queries: 13, keys: 13, widest: 40 }, range);
    expect(cellUnder(found, 1, 1)).toEqual({ query: 4, key: 2 });
    expect(cellUnder(found, found.width - 1, found.height - 1)).toEqual({ query: 9, key: 7 });
    expect(cellUnder(found, found.width, 0)).toBeNull();
    expect(cellUnder(found, -1, 0)).toBeNull();
  });

  it("paint each value in its colour, by its root, and nothing in the middle where there are two signs", () => {
    const colours = Uint8ClampedArray.from({ length: 101 * 3 }, (_, place) => Math.floor(place / 3));
    const painted = pixels({
      values: Float32Array.of(0, 0.25, 1, 0.04),
      columns: 2,
      range: whole(2, 2),
      colours,
      low: 0,
      high: 1,
      across: 2,
      down: 2,
    });
    expect([0, 4, 8, 12].map((place) => painted[place])).toEqual([0, 50, 100, 20]);
    expect(painted[3]).toBe(255);
    expect(depth(0, -2, 2)).toBe(0.5);
    expect(depth(-2, -2, 2)).toBe(0);
    expect(depth(0.5, -2, 2)).toBe(0.75);
  });

  it("lose no strong cell where many share a pixel", () => {
    const values = new Float32Array(100 * 100);
    values[57 * 100 + 31] = 1;
    const painted = pixels({
      values,
      columns: 100,
      range: whole(100, 100),
      colours: lookup(PALETTES.light.amountsA),
      low: 0,
      high: 1,
      across: 30,
      down: 30,
    });
    const [none, most] = [painted[0], lookup(PALETTES.light.amountsA).at(-3)];
    const strong = Array.from({ length: 900 }, (_, place) => painted[place * 4]).flatMap((red, place) =>
      red === most ? [place] : [],
    );
    expect(strong).toEqual([Math.floor((57 * 30) / 100) * 30 + Math.floor((31 * 30) / 100)]);
    expect(none).not.toBe(most);
  });

  it("zoom around a cell and stay inside", () => {
    const all = whole(512, 512);
    const near = zoomed(all, all, { query: 500, key: 3 }, true);
    expect(near.query[1]).toBe(256);
    expect(near.query[0] + near.query[1]).toBeLessThanOrEqual(512);
    expect(near.query[0]).toBeLessThanOrEqual(500);
    expect(near.key[0]).toBeLessThanOrEqual(3);
    expect(zoomed(near, all, { query: 400, key: 3 }, false)).toEqual(all);
    expect(following(near, { query: 0, key: 511 })).toEqual({ query: [0, 256], key: [256, 256] });
  });

  const HEADS = { a: readParcel<Head>("demo", "head-5-3-a.parcel"), b: readParcel<Head>("demo", "head-5-3-b.parcel") };

  it("lie beside each other on one scale for each measure, and their difference under them", () => {
    const found = mapsOf(HEADS, "both")!;
    expect(found.rows.map((row) => row.map(({ key }) => key))).toEqual([
      ["a-weight", "a-norm"],
      ["b-weight", "b-norm"],
      ["difference-weight", "difference-norm"],
    ]);
    const [weight] = found.rows[2]!;
    expect(weight!.values[17]).toBeCloseTo(floats(HEADS.b, "weight")[17]! - floats(HEADS.a, "weight")[17]!, 6);
    expect(found.rows[0]![1]!.high).toBe(largest([floats(HEADS.a, "norm"), floats(HEADS.b, "norm")]));
    expect(mapsOf(HEADS, "diff")!.rows).toHaveLength(1);
    expect(mapsOf(HEADS, "b")!.rows.map((row) => row[0]!.key)).toEqual(["b-weight"]);
    expect(mapsOf({ a: HEADS.a }, "b")!.rows.map((row) => row[0]!.key)).toEqual(["a-weight"]);
  });

  it("are not compared where the models cut the text differently", () => {
    const tokens = { ...HEADS.b.artifact.tokens, labels: HEADS.b.artifact.tokens.labels.map((label) => `${label}x`) };
    const other: Parcel<Head> = { ...HEADS.b, artifact: { ...HEADS.b.artifact, tokens } };
    const found = mapsOf({ a: HEADS.a, b: other }, "both")!;
    expect(found.rows.map((row) => row[0]!.key)).toEqual(["a-weight"]);
    expect(found.problem).toMatch(/cut this text differently/);
  });

  it("write numbers short", () => {
    expect([0, 0.00012, 0.012, 0.34, 1.4, 23].map((number) => value(number))).toEqual([
      "0.00",
      "<0.001",
      "0.012",
      "0.34",
      "1.40",
      "23.0",
    ]);
    expect(value(0.2, true)).toBe("+0.20");
  });

  it("are drawn", () => {
    vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(null);
    const maps = mapsOf(HEADS, "both")!;
    const heat = heatLayout({ width: 330, height: 330, queries: 13, keys: 13, widest: 62 }, whole(13, 13));
    const drawing = drawn(HeatMarks, {
      maps,
      layout: figureLayout(heat, 3, 2),
      palette: PALETTES.light,
      cursor: { query: 3, key: 4 },
      word: null,
      measure: reckoned,
    });
    expect(drawing).toMatchSnapshot();
  });
});
