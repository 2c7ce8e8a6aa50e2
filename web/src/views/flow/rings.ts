/**
 * Token rings: one ring for each layer, the words at the same angle in all of them, the target in the middle.
 *
 * A ring shows the tokens that its layer draws on; the outermost is the first layer, whose tokens are the words. In
 * each sector lies a grid with a cell for each head: left half A and right half B where both models use the head for
 * this word, a whole cell where one does. Pure: from sizes and a picture to paths and places.
 */

import { type Palette, step, stepBetween } from "../../design/colour";
import { type Picture, type Where, where } from "./graph";
import type { Group } from "./groups";
import { Gathered, type Shapes } from "./ink";
import { fitted, type Measure } from "./lettering";
import { addTile, at, baseline, isLower, n, spiral, TAU } from "./polar";

export interface Grid {
  rows: number;
  columns: number;
  cell: number;
  /** Where the middle of the grid lies. */
  radius: number;
}

export interface Ring {
  /** 0 is the outermost. */
  level: number;
  layer: number;
  inner: number;
  outer: number;
  grid: Grid;
  /** Where the profiles run: from nothing to the most. */
  profile: readonly [number, number];
  /** Where the band of words lies, if there is room for one. */
  band: number | null;
}

export interface Frame {
  width: number;
  height: number;
  cx: number;
  cy: number;
  radius: number;
  hole: number;
  rings: Ring[];
  /** Where each group begins and ends. */
  from: Float64Array;
  to: Float64Array;
  /** How the outermost words are written: along the ring, or like spokes. */
  outside: "bent" | "spokes";
}

export interface FrameOptions {
  width: number;
  height: number;
  zoom?: number;
  /** Where the middle lies, from the middle of the drawing. */
  pan?: readonly [number, number];
  groups: readonly Group[];
  layers: readonly number[];
  heads: readonly number[];
  measure: Measure;
}

const GAP = 0.13;
const WORD = 12.5;
const SMALL = 9.5;
const SPOKE = 84;
const BAND = 19;

export function frame({ width, height, zoom = 1, pan = [0, 0], groups, layers, heads, measure }: FrameOptions): Frame {
  const { from, to } = angles(groups);
  const room = Math.max(120, Math.min(width, height) / 2 - 2);
  const longest = groups.reduce((most, { label }) => Math.max(most, measure(label, WORD)), 0);
  const fits = (radius: number) =>
    groups.every(({ label }, place) => measure(label, WORD) <= (to[place]! - from[place]!) * radius * 0.96);
  const outside = fits((room - BAND) * zoom) ? "bent" : "spokes";
  const size = spokeSize(groups.length);
  const margin = outside === "bent" ? BAND : Math.min(SPOKE * (size / WORD), longest * (size / WORD) + 10);
  const radius = (room - margin) * zoom;
  const hole = Math.max(30, Math.min(radius * 0.12, 72));
  const thick = (radius - hole) / layers.length;
  const rings = layers.map((layer, level) => {
    const outer = radius - level * thick;
    return ring(level, layer, outer, thick, heads[level]!, from, to);
  });
  return { width, height, cx: width / 2 + pan[0], cy: height / 2 + pan[1], radius, hole, rings, from, to, outside };
}

/** Many words are written smaller. */
function spokeSize(count: number): number {
  return count > 40 ? 10 : count > 28 ? 11.5 : WORD;
}

/** Longer words get more of the ring, but less than in proportion. */
function angles(groups: readonly Group[]): { from: Float64Array; to: Float64Array } {
  const weights = groups.map(({ label }) => Math.sqrt(5 + Math.min([...label].length, 12)));
  const all = weights.reduce((sum, weight) => sum + weight, 0) || 1;
  const scale = (TAU - 2 * GAP) / all;
  const from = new Float64Array(groups.length);
  const to = new Float64Array(groups.length);
  let angle = GAP;
  for (const [place, weight] of weights.entries()) {
    from[place] = angle;
    angle += weight * scale;
    to[place] = angle;
  }
  return { from, to };
}

function ring(
  level: number,
  layer: number,
  outer: number,
  thick: number,
  heads: number,
  from: Float64Array,
  to: Float64Array,
): Ring {
  const space = Math.min(thick * 0.1, 3);
  const body = thick - space;
  // The words of the outermost ring stand outside of it.
  const band = level > 0 && thick > 34 ? 11 : 0;
  const profile = Math.min(body * 0.32, 24);
  const inner = outer - body;
  const bottom = inner + profile;
  const top = outer - band - 1.5;
  const narrowest = from.reduce((least, start, place) => Math.min(least, to[place]! - start), TAU);
  const radius = (bottom + top) / 2;
  return {
    level,
    layer,
    inner,
    outer,
    grid: { ...gridFor(heads, narrowest * (bottom + (top - bottom) * 0.3) * 0.9, (top - bottom) * 0.94), radius },
    profile: [inner + 0.5, inner + profile - 1],
    band: band > 0 ? outer - band + 1 : null,
  };
}

const LARGEST = 22;
/** All heads together are one cell. */
const SINGLE = 26;

/** Rows and columns with the largest square cells in a space. */
export function gridFor(heads: number, width: number, height: number): Omit<Grid, "radius"> {
  let best = { rows: heads, columns: 1, cell: 0 };
  for (let rows = 1; rows <= heads; rows++) {
    const columns = Math.ceil(heads / rows);
    const cell = Math.min(width / columns, height / rows, heads === 1 ? SINGLE : LARGEST);
    const blank = rows * columns - heads;
    if (cell > best.cell + 1e-6 || (cell > best.cell - 1e-6 && blank < best.rows * best.columns - heads))
      best = { rows, columns, cell };
  }
  return best;
}

export function middle(drawn: Frame, group: number): number {
  return (drawn.from[group]! + drawn.to[group]!) / 2;
}

/** Where one would look closer: at a word, or to the right of the middle. Counted from the middle of the drawing. */
export function focus(drawn: Frame, group: number | null): readonly [number, number] {
  const [x, y] = at(group === null ? TAU / 4 : middle(drawn, group), drawn.radius * 0.75);
  return [x + drawn.cx - drawn.width / 2, y + drawn.cy - drawn.height / 2];
}

/** What lies at a place of the drawing. */
export type Place = { kind: "centre" } | { kind: "sector"; level: number; group: number } | null;

export function locate(drawn: Frame, x: number, y: number): Place {
  const [dx, dy] = [x - drawn.cx, y - drawn.cy];
  const radius = Math.hypot(dx, dy);
  if (radius < drawn.hole) return { kind: "centre" };
  const angle = (Math.atan2(dx, -dy) + TAU) % TAU;
  const group = drawn.from.findIndex((from, place) => angle >= from && angle < drawn.to[place]!);
  if (group < 0) return null;
  if (radius >= drawn.radius) {
    // A word outside belongs to the first ring.
    return radius < drawn.radius + SPOKE ? { kind: "sector", level: 0, group } : null;
  }
  const thick = (drawn.radius - drawn.hole) / drawn.rings.length;
  const level = Math.min(drawn.rings.length - 1, Math.floor((drawn.radius - radius) / thick));
  return { kind: "sector", level, group };
}

export interface Label {
  key: string;
  text: string;
  size: number;
  dim: boolean;
  strong: boolean;
  /** Nothing is drawn of it. */
  idle: boolean;
  group: number;
  /** Bent along a ring: the path the text runs on. */
  along?: string;
  /** Like a spoke: where it stands, and how it is turned. */
  spoke?: { x: number; y: number; turn: number; anchor: "start" | "end" };
}

export interface Marks {
  /** From the lowest to the topmost: sectors, cells, outlines of the strongest cells, profiles. */
  shapes: Shapes[];
  labels: Label[];
  /** Numbers of the layers, in the gap. */
  layers: { text: string; x: number; y: number }[];
}

export interface MarkOptions {
  difference: boolean;
  palette: Palette;
  measure: Measure;
  /** By level and group: what is not dimmed; null: all. */
  lit: readonly Uint8Array[] | null;
  selected: number | null;
}

export function marks(drawn: Frame, shown: Picture, options: MarkOptions): Marks {
  const { palette, lit } = options;
  const sectors = new Gathered("sectors");
  const ink: Ink = { cells: new Gathered("quads"), empty: [] };
  const strongest: number[] = [];
  for (const one of drawn.rings) {
    let best: Best = { value: 0, corners: [] };
    for (let group = 0; group < shown.groups.length; group++) {
      const reach = where(shown, one.level, group);
      if (!reach || !isSeen(drawn, one, group)) continue;
      const dim = isDim(options, one.level, group);
      const [from, to] = inset(drawn, group, one);
      sectors.of(tint(shown, one.level, group, reach, options), dim ? 0.35 : 1).push(from, to, one.inner, one.outer);
      best = glyph(drawn, one, group, shown, options, dim ? 0.18 : 1, ink, best);
    }
    strongest.push(...best.corners);
  }
  return {
    shapes: [
      ...sectors.list(),
      { kind: "quads", data: ink.empty, fill: palette.soft, opacity: lit ? 0.12 : 0.35 },
      ...ink.cells.list(),
      { kind: "quads", data: strongest, stroke: palette.ink, width: 1.4, opacity: lit ? 0.35 : 1 },
      ...profiles(drawn, shown, palette, lit ? 0.4 : 1),
    ],
    labels: labels(drawn, shown, options),
    layers: drawn.rings.map(({ layer, inner, outer }) => ({ text: String(layer), x: 0, y: -(inner + outer) / 2 })),
  };
}

interface Ink {
  cells: Gathered<"quads">;
  /** Where a head could be and is not. */
  empty: number[];
}

interface Best {
  value: number;
  corners: number[];
}

function isDim({ lit }: MarkOptions, level: number, group: number): boolean {
  return lit !== null && !lit[level]?.[group];
}

function isZoomed({ radius, width, height }: Frame): boolean {
  return radius * 2 > Math.min(width, height);
}

/** Zoomed in, most of it lies outside of the window. */
function isSeen(drawn: Frame, { inner, outer }: Ring, group: number): boolean {
  if (!isZoomed(drawn)) return true;
  const angle = middle(drawn, group);
  const half = ((drawn.to[group]! - drawn.from[group]!) / 2) * outer + (outer - inner);
  const [x, y] = at(angle, (inner + outer) / 2);
  return (
    x + drawn.cx > -half &&
    x + drawn.cx < drawn.width + half &&
    y + drawn.cy > -half &&
    y + drawn.cy < drawn.height + half
  );
}

function inset(drawn: Frame, group: number, { outer }: Ring): [number, number] {
  const space = Math.min(0.6 / outer, (drawn.to[group]! - drawn.from[group]!) * 0.08);
  return [drawn.from[group]! + space, drawn.to[group]! - space];
}

/** The lightest steps only: what lies on a sector must stay legible. */
const TINT = 0.34;

function tint(
  shown: Picture,
  level: number,
  group: number,
  reach: Where,
  { palette, difference }: MarkOptions,
): string {
  const [a, b] = [shown.a?.share[level]?.[group] ?? 0, shown.b?.share[level]?.[group] ?? 0];
  if (difference) return stepBetween(palette.difference, (TINT * (b - a)) / shown.most.share);
  const amount = reach === 3 ? (a + b) / 2 : a + b;
  const scale = reach === 1 ? palette.amountsA : reach === 2 ? palette.amountsB : palette.amountsBoth;
  return step(scale, 0.07 + (TINT * amount) / shown.most.share);
}

/** A word's cells in one ring; gives back the strongest cell so far. */
function glyph(
  drawn: Frame,
  one: Ring,
  group: number,
  shown: Picture,
  { palette, difference }: MarkOptions,
  opacity: number,
  { cells, empty }: Ink,
  best: Best,
): Best {
  const { rows, columns, cell, radius } = one.grid;
  const angle = middle(drawn, group);
  const size = shown.groups.length;
  const gap = cell > 5 ? 1 : cell > 2.5 ? 0.5 : 0.2;
  const side = cell - gap;
  const none = stepBetween(palette.difference, 0);
  const [inA, inB] = [shown.a?.strength[one.level], shown.b?.strength[one.level]];
  let found = best;
  for (let head = 0; head < shown.heads[one.level]!; head++) {
    const a = inA?.[head * size + group] ?? 0;
    const b = inB?.[head * size + group] ?? 0;
    const u = ((head % columns) - columns / 2) * cell + gap / 2;
    const v = (rows / 2 - 1 - Math.floor(head / columns)) * cell + gap / 2;
    const between = difference ? stepBetween(palette.difference, (b - a) / shown.most.difference) : none;
    if ((!a && !b) || (difference && between === none)) {
      if (cell > 4) addTile(empty, angle, radius, u + side / 2 - 0.5, v + side / 2 - 0.5, 1, 1);
      continue;
    }
    if (difference) addTile(cells.of(between, opacity), angle, radius, u, v, side, side);
    else if (a && b && side < HALVED) {
      addTile(cells.of(depth(palette.amountsBoth, Math.max(a, b), shown), opacity), angle, radius, u, v, side, side);
    } else if (a && b) {
      addTile(cells.of(depth(palette.amountsA, a, shown), opacity), angle, radius, u, v, side / 2, side);
      addTile(cells.of(depth(palette.amountsB, b, shown), opacity), angle, radius, u + side / 2, v, side / 2, side);
    } else {
      const fill = depth(a ? palette.amountsA : palette.amountsB, a || b, shown);
      addTile(cells.of(fill, opacity), angle, radius, u, v, side, side);
    }
    const value = difference ? Math.abs(b - a) : Math.max(a, b);
    if (value <= found.value) continue;
    found = { value, corners: [] };
    addTile(found.corners, angle, radius, u - 1, v - 1, side + 2, side + 2);
  }
  return found;
}

/** In a smaller cell two halves can't be told apart: it is of the colour of both. */
const HALVED = 4;

/** What passes must be seen, so that scales begin above the page. */
function depth(scale: readonly string[], value: number, shown: Picture): string {
  return step(scale, 0.25 + 0.75 * Math.min(1, value / shown.most.strength));
}

/**
 * Where each ring's profiles end: at the most that a word receives there. Special tokens, and a token that takes more
 * than half, often receive many times what any word does, which would leave the words flat; their lines go off the end.
 * Where words receive next to nothing they are flat: profiles never end before an even share.
 */
export function peaks({ a, b, layers, groups }: Picture): number[] {
  return layers.map((_, level) => {
    let [most, ofWords] = [0, 0];
    for (const one of [a, b]) {
      one?.received[level]?.forEach((value, group) => {
        most = Math.max(most, value);
        if (!groups[group]!.special && value <= 0.5) ofWords = Math.max(ofWords, value);
      });
    }
    return Math.max(1 / groups.length, ofWords || most);
  });
}

/** What each word receives: a line for each model, over the line of nothing. */
function profiles(drawn: Frame, shown: Picture, { a, b, rule }: Palette, opacity: number): Shapes[] {
  const most = peaks(shown);
  const floor = drawn.rings.map(({ profile: [low] }) => profile(drawn, () => low));
  const found: Shapes[] = [{ kind: "lines", data: floor, stroke: rule, width: 0.8, opacity }];
  const fine = drawn.rings.length > 8 ? 0.75 : 1;
  // Where both receive the same, the finer line lies in the other.
  for (const { one, colour, width } of [
    { one: shown.a, colour: a, width: 1.4 * fine },
    { one: shown.b, colour: b, width: shown.a ? fine : 1.4 * fine },
  ]) {
    if (!one) continue;
    const data = drawn.rings.flatMap(({ level, profile: [low, high] }) => {
      const part = Array.from(one.received[level]!, (value) => value / most[level]!);
      const radius = (group: number) => low + (high - low) * Math.min(1, part[group]!);
      return runs(part, (value) => value < 1 + 1e-6).map(([first, end]) => profile(drawn, radius, first, end));
    });
    found.push({ kind: "lines", data, stroke: colour, width, opacity });
  }
  return found;
}

/** Where a condition begins to hold, and where it ends. */
function runs(values: readonly number[], holds: (value: number) => boolean): [number, number][] {
  const found: [number, number][] = [];
  for (const [place, value] of values.entries()) {
    if (!holds(value)) continue;
    const last = found.at(-1);
    if (last?.[1] === place) last[1]++;
    else found.push([place, place + 1]);
  }
  return found;
}

/** How much of a sector, at each end, a line takes to glide over to the next one. */
const GLIDE = 0.2;

/** Along a ring from one word to before another, at a radius for each: level along most of a sector. */
function profile(
  drawn: Frame,
  radius: (group: number) => number,
  first = 0,
  end: number = drawn.from.length,
): number[] {
  const points: number[] = [];
  const arc = (from: number, to: number, start: number, end: number) => {
    const steps = Math.max(1, Math.ceil((to - from) / 0.05));
    for (let place = 0; place <= steps; place++) {
      const part = place / steps;
      const smooth = part * part * (3 - 2 * part);
      points.push(...at(from + (to - from) * part, start + (end - start) * smooth));
    }
  };
  const last = drawn.from.length - 1;
  const edge = (group: number) => (drawn.to[group]! - drawn.from[group]!) * GLIDE;
  const begins = (group: number) => drawn.from[group]! + (group > 0 ? edge(group) : 0);
  const ends = (group: number) => drawn.to[group]! - (group < last ? edge(group) : 0);
  const glide = (group: number) => arc(ends(group), begins(group + 1), radius(group), radius(group + 1));
  if (first > 0) glide(first - 1);
  for (let group = first; group < end; group++) {
    arc(begins(group), ends(group), radius(group), radius(group));
    if (group < last) glide(group);
  }
  return points;
}

function labels(drawn: Frame, shown: Picture, options: MarkOptions): Label[] {
  const found: Label[] = [];
  for (const [group, { label }] of shown.groups.entries()) {
    const words = drawn.outside === "bent" ? outside(drawn, group, label) : spoke(drawn, group, label, options.measure);
    if (words) {
      found.push({
        ...words,
        key: `w${group}`,
        group,
        dim: isDim(options, 0, group),
        strong: group === options.selected,
        idle: !where(shown, 0, group),
      });
    }
    for (const one of drawn.rings) {
      if (!where(shown, one.level, group) || !isSeen(drawn, one, group)) continue;
      const place = inRing(drawn, one, group, label, options.measure);
      if (!place) continue;
      found.push({
        ...place,
        key: `${one.level}-${group}`,
        group,
        dim: isDim(options, one.level, group),
        strong: false,
        idle: false,
      });
    }
  }
  return found;
}

/** A word in its sector: bent along the ring, or, where one looks closer and sectors are long and narrow, like a spoke. */
function inRing(
  drawn: Frame,
  { level, band, inner, outer, grid }: Ring,
  group: number,
  label: string,
  measure: Measure,
): Pick<Label, "text" | "size" | "along" | "spoke"> | null {
  const wide = drawn.to[group]! - drawn.from[group]!;
  if (band !== null && measure(label, SMALL) <= wide * band - 4)
    return { text: label, size: SMALL, along: lettersAlong(drawn, group, band, SMALL) };
  const from = grid.radius + (grid.rows * grid.cell) / 2 + 4;
  // Words of the first layer stand around it, until that is out of sight.
  if (outer - inner < LONG || wide * from < SMALL * 1.3 || (level === 0 && !isZoomed(drawn))) return null;
  const text = fitted(label, SMALL, outer - 4 - from, measure);
  return text ? { text, size: SMALL, spoke: spokeAt(middle(drawn, group), from) } : null;
}

/** Sectors that have room for a word beside the cells. */
const LONG = 90;

/** Where letters stand in the lower half, their feet point outwards: the line moves by their height. */
function lettersAlong(drawn: Frame, group: number, radius: number, size: number): string {
  const turned = isLower(middle(drawn, group));
  const more = (drawn.to[group]! - drawn.from[group]!) * 0.3;
  return baseline(drawn.from[group]! - more, drawn.to[group]! + more, radius + (turned ? size * 0.74 : 0));
}

function outside(drawn: Frame, group: number, label: string): Pick<Label, "text" | "size" | "along"> {
  return { text: label, size: WORD, along: lettersAlong(drawn, group, drawn.radius + 5, WORD) };
}

function spoke(
  drawn: Frame,
  group: number,
  label: string,
  measure: Measure,
): Pick<Label, "text" | "size" | "spoke"> | null {
  const arc = (drawn.to[group]! - drawn.from[group]!) * drawn.radius;
  const size = Math.min(spokeSize(drawn.from.length), arc * 0.92);
  if (size < 6.5) return null;
  return {
    text: fitted(label, size, SPOKE * (size / WORD) - 10, measure),
    size,
    spoke: spokeAt(middle(drawn, group), drawn.radius + 6),
  };
}

/** A text from a radius outwards, turned so that it stands upright. */
function spokeAt(angle: number, radius: number): NonNullable<Label["spoke"]> {
  const [x, y] = at(angle, radius);
  const left = angle > Math.PI;
  return { x, y, turn: (angle * 180) / Math.PI - (left ? -90 : 90), anchor: left ? "end" : "start" };
}

/** A link from a token of one level up to one of the next, or to the middle. */
export function linkPath(drawn: Frame, layer: number, key: number, query: number | null): string {
  const one = drawn.rings[layer]!;
  const above = drawn.rings[layer + 1];
  const from = middle(drawn, key);
  if (!above || query === null) {
    const [x, y] = at(from, one.grid.radius);
    const [ex, ey] = at(from, drawn.hole - 4);
    return `M${n(x)} ${n(y)}L${n(ex)} ${n(ey)}`;
  }
  return spiral(from, one.grid.radius, middle(drawn, query), above.grid.radius);
}
