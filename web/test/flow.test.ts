import { describe, expect, it } from "vitest";
import { floats } from "../src/api/parcel";
import type { Maps, TokenList, Words } from "../src/api/types";
import { PALETTES } from "../src/design/colour";
import { divide } from "../src/views/flow/amounts";
import { picture, side, type Tracing, where } from "../src/views/flow/graph";
import { groupOf, groupsOf } from "../src/views/flow/groups";
import { written } from "../src/views/flow/ink";
import { keyItems, placed } from "../src/views/flow/key";
import { fitted, reckoned } from "../src/views/flow/lettering";
import { carriedLinks, linksAt } from "../src/views/flow/links";
import { defaultThreshold } from "../src/views/flow/options";
import { type Frame, frame, gridFor, locate, marks, middle, peaks } from "../src/views/flow/rings";
import { type SankeyOptions, sankey, sankeyShapes, stack } from "../src/views/flow/sankey";
import type { Flow } from "../src/views/flow/useFlow";
import { readParcel } from "./fixtures";

const OPTIONS: Tracing = { threshold: 0.2, layers: null, heads: null, target: 0, last: null };
const A = side(readParcel<Maps>("demo", "maps-weight-a.parcel"), OPTIONS);
const B = side(readParcel<Maps>("demo", "maps-weight-b.parcel"), OPTIONS);
const GROUPS = groupsOf(A.tokens);
const SHOWN = picture(GROUPS, A, B, 1);
const SIZE = { width: 640, height: 640 };
const ringsOf = (shown = SHOWN, size = SIZE): Frame =>
  frame({ ...size, groups: shown.groups, layers: shown.layers, heads: shown.heads, measure: reckoned });

function tokenList(words: string[], pieces: Record<number, number> = {}): TokenList {
  const labels = words.map((word, place) => `${word}${words.indexOf(word) < place ? ` (${place})` : ""}`);
  return {
    labels,
    special: words.map((word) => word.startsWith("[")),
    words: words.map((word, place) => (word.startsWith("[") ? null : (pieces[place] ?? place))),
    starts_word: words.map((_, place) => !(place in pieces)),
  };
}

describe("groups", () => {
  const text = Array.from({ length: 150 }, (_, place) => (place % 12 === 11 ? "." : `word${place}`));
  const long = tokenList(["[CLS]", ...text, "[SEP]"]);

  it("are single tokens while there is room", () => {
    expect(GROUPS.map(({ label }) => label).join(" ")).toBe(
      "[CLS] The plot is thin , but the acting is wonderful . [SEP]",
    );
  });

  it.each([5, 7, 30, 60, 100, 200])("are at most %i, in order, and leave nothing out", (room) => {
    const found = groupsOf(long, room);
    expect(found.length).toBeLessThanOrEqual(room);
    expect(found[0]!.first).toBe(0);
    expect(found.at(-1)!.end).toBe(152);
    for (const [place, { first }] of found.slice(1).entries()) expect(first).toBe(found[place]!.end);
    const of = groupOf(found, 152);
    expect([...of]).toEqual([...of].sort((a, b) => a - b));
  });

  it("keep special tokens apart, and the pieces of a word together", () => {
    const found = groupsOf(tokenList(["[CLS]", "un", "##believ", "##able", "film", "[SEP]"], { 2: 1, 3: 1 }), 4);
    expect(found.map(({ label }) => label)).toEqual(["[CLS]", "unbelievable", "film", "[SEP]"]);
  });

  it("end where a sentence does, if they can", () => {
    expect(groupsOf(long, 30).filter(({ label }) => label.startsWith(". ")).length).toBe(0);
  });
});

describe("the picture", () => {
  it("knows which model reaches what", () => {
    const found = SHOWN.groups.map((_, group) => where(SHOWN, 5, group));
    expect(new Set(found)).toEqual(new Set([0, 1, 2, 3]));
    for (const [group, value] of found.entries()) {
      expect(value & 1).toBe(A.found.reached[5]![group]! ? 1 : 0);
      expect(value & 2).toBe(B.found.reached[5]![group]! ? 2 : 0);
    }
  });

  it("is of one model, where there is one", () => {
    const alone = picture(GROUPS, A, null, 1);
    expect(SHOWN.groups.some((_, group) => where(alone, 0, group) > 1)).toBe(false);
  });

  it("gives shares that make a whole at each level", () => {
    for (const level of SHOWN.a!.share) expect(level.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 4);
  });

  it("keeps the whole when tokens are drawn together", () => {
    const coarse = picture(groupsOf(A.tokens, 5), A, B, 1);
    for (const level of coarse.b!.share) expect(level.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 4);
    expect(Math.max(...coarse.b!.strength[0]!)).toBe(Math.max(...SHOWN.b!.strength[0]!));
  });

  it("shows [CLS] shrink from weights to norms", () => {
    const norms = side(readParcel<Maps>("demo", "maps-block_norm-a.parcel"), { ...OPTIONS, threshold: 0.08 });
    expect(norms.received[2]![0]!).toBeLessThan(A.received[2]![0]! / 2);
  });

  it("has fewer layers where fewer are chosen", () => {
    expect(side(readParcel<Maps>("demo", "maps-weight-a.parcel"), { ...OPTIONS, layers: [2, 4] }).layers).toEqual([
      2, 3, 4,
    ]);
  });
});

describe("a class as the target", () => {
  const parcel = readParcel<Maps>("demo", "maps-weight-b.parcel");
  const last = floats(readParcel<Words>("demo", "words-b.parcel"), "last");

  it("is traced from what each token contributes", () => {
    const found = side(parcel, { ...OPTIONS, last });
    expect(found.start).toBeNull();
    expect(found.heads.at(-1)).toBe(1);
  });

  it("is decided behind the last layer only", () => {
    expect(side(parcel, { ...OPTIONS, last, layers: [1, 4] }).start).toBe(0);
  });
});

describe("amounts", () => {
  const of = groupOf(GROUPS, A.tokens.labels.length);

  it("hand all of the target's whole down, and never more", () => {
    for (const one of [A, B]) {
      const { levels } = divide(one, of, GROUPS.length);
      const wholes = levels.map((level) => level.reduce((sum, part) => sum + part, 0));
      expect(wholes.at(-1)).toBeCloseTo(1, 6);
      for (const [level, whole] of wholes.slice(1).entries()) expect(wholes[level]).toBeLessThanOrEqual(whole + 1e-6);
    }
  });

  it("come from the words: those of all words make everything that reaches level 0", () => {
    const { carried, edges } = divide(B, of, GROUPS.length, [...A.tokens.labels.keys()]);
    const sums = (layers: Float32Array[]) => layers[0]!.reduce((sum, part) => sum + part, 0);
    expect(sums(carried!)).toBeCloseTo(sums(edges), 5);
    const parts = [...A.tokens.labels.keys()].map((token) => sums(divide(B, of, GROUPS.length, [token]).carried!));
    expect(parts.reduce((sum, part) => sum + part, 0)).toBeCloseTo(sums(edges), 5);
  });

  it("show as links which word hands on what", () => {
    const links = carriedLinks(A, B, of, GROUPS.length, [10]);
    expect(links.filter(({ layer }) => layer === 0).every(({ key }) => key === 10)).toBe(true);
    expect(links.some(({ layer }) => layer === 5)).toBe(true);
  });

  it("link a word to what draws on it and to what it draws on", () => {
    const links = linksAt(A, B, of, 3, 0);
    expect(new Set(links.map(({ layer }) => layer))).toEqual(new Set([2, 3]));
    for (const { layer, key, query } of links) expect(layer === 3 ? key : query).toBe(0);
  });
});

describe("rings", () => {
  const drawn = ringsOf();

  it("lie one in the other, and the first layer is outermost", () => {
    expect(drawn.rings.map(({ layer }) => layer)).toEqual([1, 2, 3, 4, 5, 6]);
    for (const [place, { outer }] of drawn.rings.slice(1).entries())
      expect(outer).toBeLessThanOrEqual(drawn.rings[place]!.inner);
    expect(drawn.rings.at(-1)!.inner).toBeGreaterThanOrEqual(drawn.hole);
  });

  it("keep within the drawing", () => {
    for (const size of [
      { width: 320, height: 640 },
      { width: 900, height: 420 },
    ]) {
      const { radius } = ringsOf(SHOWN, size);
      expect(2 * radius).toBeLessThan(Math.min(size.width, size.height));
    }
  });

  it("find what they show: every word of every ring, and the middle", () => {
    for (const { level, inner, outer } of drawn.rings) {
      for (const group of GROUPS.keys()) {
        const [angle, radius] = [middle(drawn, group), (inner + outer) / 2];
        const found = locate(drawn, drawn.cx + radius * Math.sin(angle), drawn.cy - radius * Math.cos(angle));
        expect(found).toEqual({ kind: "sector", level, group });
      }
    }
    expect(locate(drawn, drawn.cx, drawn.cy)).toEqual({ kind: "centre" });
    expect(locate(drawn, drawn.cx, drawn.cy - drawn.radius + 5)).toBeNull();
  });

  it.each([1, 2, 8, 12, 16, 32])("have room for the cells of %i heads", (heads) => {
    for (const [width, height] of [
      [40, 16],
      [8, 20],
      [100, 8],
    ] as const) {
      const { rows, columns, cell } = gridFor(heads, width, height);
      expect(rows * columns).toBeGreaterThanOrEqual(heads);
      expect(columns * cell).toBeLessThanOrEqual(width + 1e-9);
      expect(rows * cell).toBeLessThanOrEqual(height + 1e-9);
    }
  });

  it("draw nothing of what is not reached", () => {
    const none = side(readParcel<Maps>("demo", "maps-weight-a.parcel"), { ...OPTIONS, threshold: 1 });
    const found = marks(drawn, picture(GROUPS, none, null, 1), lookOf(null));
    const cells = found.shapes
      .filter(({ kind }) => kind === "sectors" || kind === "quads")
      .flatMap(({ data }) => data as number[]);
    expect(cells).toEqual([]);
  });

  it("have profiles up to the most that a word receives, however much [CLS] does", () => {
    const found = peaks(SHOWN);
    for (const [level, peak] of found.entries()) {
      const words = [SHOWN.a!, SHOWN.b!].flatMap(({ received }) => [...received[level]!.slice(1, -1)]);
      expect(peak).toBe(Math.max(1 / GROUPS.length, ...words));
    }
    expect(found[4]!).toBeLessThan(SHOWN.a!.received[4]![0]! / 10);
    expect(found[4]!).toBe(1 / GROUPS.length);
    expect(found[5]!).toBeGreaterThan(0.2);
  });

  it("have profiles that tell words apart, and go off the end at [CLS]", () => {
    const lines = marks(drawn, SHOWN, lookOf(null)).shapes.filter(
      ({ kind, stroke }) => kind === "lines" && stroke === PALETTES.light.b,
    );
    expect(lines).toHaveLength(1);
    const [low, high] = drawn.rings[5]!.profile;
    const radii = (lines[0]!.data as number[][]).map((points) =>
      points.flatMap((x, place) => (place % 2 ? [] : [Math.hypot(x, points[place + 1]!)])),
    );
    for (const { profile, level } of drawn.rings) {
      const here = radii.filter((one) => one.every((radius) => radius > profile[0] - 1 && radius < profile[1] + 1));
      const all = here.flat();
      expect(Math.min(...all)).toBeGreaterThanOrEqual(profile[0] - 1e-6);
      expect(Math.max(...all)).toBeLessThanOrEqual(profile[1] + 1e-6);
      const top = SHOWN.b!.received[level]![0]! > peaks(SHOWN)[level]!;
      if (top) expect(here[0]![0]).toBeCloseTo(profile[1], 4);
    }
    const last = radii.at(-1)!;
    expect(Math.max(...last) - Math.min(...last)).toBeGreaterThan(0.8 * (high - low));
  });

  it("end profiles at a word that takes nearly all, if there is no other", () => {
    const [first] = GROUPS;
    const alone = {
      ...SHOWN,
      groups: [first!, first!],
      a: null,
      b: { ...SHOWN.b!, received: [Float32Array.of(0.9, 0)] },
    };
    expect(peaks({ ...alone, layers: [1] })[0]).toBeCloseTo(0.9);
  });

  it("have words like spokes in long, narrow sectors, when one looks closer", () => {
    const tokens = Array.from({ length: 58 }, (_, place) => `word${place}`);
    const groups = groupsOf(tokenList(["[CLS]", ...tokens, "[SEP]"]));
    const all = Float32Array.from(groups, () => 1 / groups.length);
    const one = {
      reached: SHOWN.layers.map(() => new Uint8Array(groups.length).fill(1)),
      share: SHOWN.layers.map(() => all),
      received: SHOWN.layers.map(() => all),
      strength: SHOWN.heads.map((heads) => new Float32Array(heads * groups.length).fill(0.5)),
    };
    const shown = { ...SHOWN, groups, a: one, b: null };
    const words = (zoom: number) => {
      const close = frame({ ...SIZE, zoom, groups, layers: shown.layers, heads: shown.heads, measure: reckoned });
      return marks(close, shown, lookOf(null)).labels.flatMap(({ key, spoke }) => {
        const ring = close.rings[Number(key.split("-")[0])];
        return spoke && !key.startsWith("w") ? [{ ring: ring!, radius: Math.hypot(spoke.x, spoke.y) }] : [];
      });
    };
    expect(words(1)).toEqual([]);
    const found = words(6);
    expect(found.length).toBeGreaterThan(3);
    for (const { ring, radius } of found) {
      expect(radius).toBeGreaterThan(ring.grid.radius);
      expect(radius).toBeLessThan(ring.outer);
    }
  });

  it("dim what is not lit", () => {
    const lit = SHOWN.layers.map(() => Uint8Array.from(GROUPS, (_, group) => Number(group === 2)));
    const dimmed = marks(drawn, SHOWN, lookOf(lit)).labels.filter(({ key, dim }) => key.startsWith("w") && !dim);
    expect(dimmed.map(({ text }) => text)).toEqual(["plot"]);
  });

  it("look as they did", async () => {
    const { shapes, labels } = marks(drawn, SHOWN, lookOf(null));
    await expect(
      `${written(shapes)}\n${JSON.stringify(labels, null, 1)}\n`.replaceAll("/>", "/>\n"),
    ).toMatchFileSnapshot("snapshots/rings.svg");
  });
});

function lookOf(lit: readonly Uint8Array[] | null) {
  return { difference: false, palette: PALETTES.light, measure: reckoned, lit, selected: null };
}

describe("the Sankey drawing", () => {
  const options: SankeyOptions = {
    width: 680,
    height: 560,
    groups: GROUPS,
    of: SHOWN.of,
    layers: SHOWN.layers,
    a: A,
    b: B,
    target: "[CLS]",
    from: null,
    measure: reckoned,
  };
  const drawn = sankey(options);

  it("keeps the words' order, without overlap, within the drawing", () => {
    for (let level = 0; level <= 6; level++) {
      const column = drawn.bars.filter((bar) => bar.level === level);
      for (const [place, bar] of column.slice(1).entries()) {
        expect(bar.group!).toBeGreaterThan(column[place]!.group!);
        expect(bar.y).toBeGreaterThanOrEqual(column[place]!.y + column[place]!.height);
      }
      for (const { y, height } of column) {
        expect(y).toBeGreaterThanOrEqual(0);
        expect(y + height).toBeLessThanOrEqual(560);
      }
    }
  });

  it("lets as much into a bar as comes out of it", () => {
    const inner = drawn.bars.filter(({ level, height }) => level > 0 && level < 6 && height > 2);
    for (const { level, group, height } of inner) {
      const leaving = drawn.ribbons.filter(({ layer, key }) => layer === level && key === group);
      expect(leaving.reduce((sum, { band }) => sum + band[4], 0)).toBeCloseTo(height, 0);
    }
  });

  it("shows what one word hands on, and never more than there is", () => {
    const { ribbons } = sankey({ ...options, from: [10] });
    expect(ribbons.some(({ carried }) => carried)).toBe(true);
    for (const { band, carried } of ribbons)
      if (carried) expect(carried[4]).toBeLessThanOrEqual(Math.max(0.4, band[4]) + 1e-6);
  });

  it("stands in for a class as well", () => {
    const last = floats(readParcel<Words>("demo", "words-b.parcel"), "last");
    const found = side(readParcel<Maps>("demo", "maps-weight-b.parcel"), { ...OPTIONS, last });
    const top = sankey({ ...options, a: null, b: found, target: "positive" });
    expect(top.bars.filter(({ group }) => group === null).length).toBe(1);
    expect(top.ribbons.filter(({ layer }) => layer === 5).every(({ query }) => query === null)).toBe(true);
  });

  it("looks as it did", async () => {
    const shapes = sankeyShapes(
      drawn,
      PALETTES.dark,
      ({ a }) => (a ? "#111111" : "#222222"),
      null,
      false,
      () => false,
    );
    await expect(written(shapes).replaceAll("/>", "/>\n")).toMatchFileSnapshot("snapshots/sankey.svg");
  });
});

describe("the key", () => {
  const flow = { a: A, b: B, picture: SHOWN, show: "both", threshold: 0.2 } as unknown as Flow;
  const said = (one: Flow, draw: "rings" | "sankey") =>
    keyItems(one, PALETTES.light, draw).map(({ from, text }) => [from, text].filter(Boolean).join(" – "));

  it("says in numbers what each scale and line ends at", () => {
    expect(said(flow, "rings")).toEqual([
      "20 % – 100 % share",
      "both",
      "strongest in a ring",
      "received, up to 7.7–26 %",
    ]);
    expect(said({ ...flow, b: null }, "rings")).not.toContain("both");
    expect(said({ ...flow, show: "diff" }, "rings")[0]).toBe("A stronger 100 % – 100 % B stronger");
  });

  it("says of a Sankey drawing whose its bands are, and what their width is", () => {
    expect(said(flow, "sankey")).toEqual(["A only", "B only", "both", "as wide as its part of the target"]);
  });

  it.each([220, 400, 900])("keeps within %i pixels", (width) => {
    const { items, height } = placed(keyItems(flow, PALETTES.light, "rings"), width, reckoned);
    for (const { x, y, label, text } of items) {
      expect(x + label + reckoned(text, 11)).toBeLessThanOrEqual(width);
      expect(y).toBeLessThan(height);
    }
    for (const [place, one] of items.slice(1).entries()) {
      const before = items[place]!;
      if (one.y === before.y) expect(one.x).toBeGreaterThan(before.x + before.label + reckoned(before.text, 11));
      else expect(one.y).toBeGreaterThan(before.y);
    }
  });
});

describe("stacking", () => {
  it("leaves boxes at home where there is room", () => {
    expect(stack([10, 10], [20, 60], 100, 2)).toEqual([15, 55]);
  });

  it("shares out what boxes must give way", () => {
    expect(stack([10, 10], [50, 50], 100, 2)).toEqual([39, 51]);
  });

  it("keeps boxes from both ends", () => {
    expect(stack([10, 10], [0, 100], 100, 0)).toEqual([0, 90]);
  });
});

describe("words that must fit", () => {
  it("stay whole if they can, and end in an ellipsis if not", () => {
    expect(fitted("plot", 10, 100, reckoned)).toBe("plot");
    expect(fitted("wonderful", 10, 30, reckoned)).toMatch(/^wo.*…$/);
    expect(fitted("素晴らしい", 10, 35, reckoned)).toBe("素晴…");
    expect(fitted("wonderful", 10, 2, reckoned)).toBe("");
  });
});

it("begins with a threshold that lets something through", () => {
  expect(defaultThreshold(true, "direct", 0.9)).toBe(0.2);
  expect(defaultThreshold(true, "direct", 0.1)).toBe(0.08);
  expect(defaultThreshold(false, "direct", 1)).toBe(0.08);
  expect(defaultThreshold(true, "direct", 0)).toBe(0.001);
});
