/**
 * The same graph as columns of tokens, layer by layer to the target at the right. The target's whole is divided among
 * the tokens it draws on, in proportion to their shares, and so on down to the words: what enters a token leaves it.
 * Where tracing ends above the words, because nothing passes the threshold there, so does the ribbon.
 */

import type { Palette } from "../../design/colour";
import { type Amounts, divide } from "./amounts";
import type { Side } from "./graph";
import type { Group } from "./groups";
import { Gathered, type Shapes } from "./ink";
import { fitted, type Measure } from "./lettering";
import type { Link } from "./links";

export interface Bar {
  level: number;
  /** null: the logit. */
  group: number | null;
  x: number;
  y: number;
  height: number;
  /** What of the target's whole passes here, in each model. */
  a: number;
  b: number;
  /** Which models are drawn. */
  of: "a" | "b" | "both";
}

/** A link with its place: from x, y to x, y, and how wide. */
export interface Ribbon extends Link {
  band: [number, number, number, number, number];
  /** What of it comes from the selected word, in the middle of it; null if nothing does. */
  carried: [number, number, number, number, number] | null;
}

export interface BarLabel {
  level: number;
  group: number | null;
  text: string;
  x: number;
  y: number;
  anchor: "start" | "end";
  size: number;
}

export interface SankeyDrawing {
  width: number;
  height: number;
  bars: Bar[];
  ribbons: Ribbon[];
  labels: BarLabel[];
  columns: { x: number; text: string }[];
  bar: number;
}

export interface SankeyOptions {
  width: number;
  height: number;
  groups: readonly Group[];
  of: Uint16Array;
  layers: readonly number[];
  a: Side | null;
  b: Side | null;
  target: string;
  /** The selected word's tokens. */
  from: readonly number[] | null;
  measure: Measure;
}

const BAR = 8;
const TOP = 28;
const BOTTOM = 8;
const WORD = 12;
const SMALL = 10;
const THINNEST = 0.15;
const THINNEST_CARRIED = THINNEST / 2;

export function sankey(options: SankeyOptions): SankeyDrawing {
  const { width, height, groups, of, layers, a, b, target, from, measure } = options;
  const sides = [a, b].filter((one) => one !== null).length || 1;
  const divided = { a: a && divide(a, of, groups.length, from), b: b && divide(b, of, groups.length, from) };
  const left = Math.min(96, Math.max(...groups.map(({ label }) => measure(label, WORD)), 20) + 14);
  const right = Math.min(120, measure(target, WORD) + 14);
  const x = (level: number) => left + ((width - left - right - BAR) * level) / layers.length;
  const tall = height - TOP - BOTTOM;
  const scale = 0.62 * tall;
  const bars: Bar[] = [];
  /** By level and group; the target is the one place of the top. */
  const places: (Bar | undefined)[][] = [];
  for (let level = 0; level <= layers.length; level++) {
    const column: Bar[] = [];
    const here: (Bar | undefined)[] = [];
    places.push(here);
    const isTop = level === layers.length;
    const count = isTop ? 1 : groups.length;
    for (let place = 0; place < count; place++) {
      const [inA, inB] = isTop
        ? [a ? 1 : 0, b ? 1 : 0]
        : [divided.a?.levels[level]?.[place] ?? 0, divided.b?.levels[level]?.[place] ?? 0];
      if (inA + inB <= 0) continue;
      const bar: Bar = {
        of: a && b ? "both" : a ? "a" : "b",
        level,
        group: isTop ? null : place,
        x: x(level),
        y: 0,
        height: Math.max(0.5, ((inA + inB) / sides) * scale),
        a: inA,
        b: inB,
      };
      column.push(bar);
      here[place] = bar;
    }
    const homes = column.map(({ group }) => (group === null ? 0.5 : (group + 0.5) / groups.length) * tall);
    // The words need room to be written in.
    const line = level === 0 && column.length * 15 < tall - scale ? 14 : 0;
    const heights = column.map((bar) => Math.max(bar.height, line));
    stack(heights, homes, tall, Math.min(5, (tall - scale) / Math.max(1, column.length))).forEach((y, place) => {
      const bar = column[place]!;
      bar.y = TOP + y + (heights[place]! - bar.height) / 2;
    });
    bars.push(...column);
  }
  const drawing: SankeyDrawing = { width, height, bars, ribbons: [], labels: [], columns: [], bar: BAR };
  drawing.ribbons = ribbons(options, divided, places, scale / sides);
  drawing.labels = labels(options, bars, x(1) - x(0));
  drawing.columns = Array.from({ length: layers.length + 1 }, (_, level) => ({
    x: x(level) + BAR / 2,
    text: level === 0 ? (layers[0] === 1 ? "words" : `after ${layers[0]! - 1}`) : String(layers[level - 1]),
  }));
  return drawing;
}

/** Boxes from top to bottom, in order and without overlap, each as near to its home as can be (isotonic regression). */
export function stack(heights: readonly number[], homes: readonly number[], tall: number, gap: number): number[] {
  const before: number[] = [];
  let sum = 0;
  for (const height of heights) {
    before.push(sum);
    sum += height + gap;
  }
  const blocks: { value: number; count: number }[] = [];
  for (const [place, home] of homes.entries()) {
    let block = { value: home - heights[place]! / 2 - before[place]!, count: 1 };
    for (let last = blocks.at(-1); last && last.value > block.value; last = blocks.at(-1)) {
      blocks.pop();
      const count = last.count + block.count;
      block = { value: (last.value * last.count + block.value * block.count) / count, count };
    }
    blocks.push(block);
  }
  const most = Math.max(0, tall - (sum - gap));
  const values = blocks.flatMap(({ value, count }) => Array<number>(count).fill(Math.min(Math.max(0, value), most)));
  return values.map((value, place) => value + before[place]!);
}

function ribbons(
  { a, b, groups, layers }: SankeyOptions,
  divided: { a: Amounts | null; b: Amounts | null },
  places: readonly (readonly (Bar | undefined)[])[],
  scale: number,
): Ribbon[] {
  const { a: inA, b: inB } = divided;
  const count = groups.length;
  const found: Part[] = [];
  const widths = new Float64Array(count ** 2);
  const starts = new Float64Array(count ** 2);
  for (const layer of layers.keys()) {
    const [lower, upper] = [places[layer]!, places[layer + 1]!];
    const into = layer === layers.length - 1 ? () => 0 : (query: number) => query;
    const [edgesA, edgesB] = [inA?.edges[layer], inB?.edges[layer]];
    for (let place = 0; place < widths.length; place++) {
      widths[place] = scale * ((edgesA?.[place] ?? 0) + (edgesB?.[place] ?? 0));
    }
    // What leaves a token lies in the order in which it arrives, and the other way round, so that little crosses.
    for (let key = 0; key < count; key++) {
      let leaves = lower[key]?.y ?? 0;
      for (let place = key; place < widths.length; place += count) {
        starts[place] = leaves;
        leaves += widths[place]!;
      }
    }
    const enters = Float64Array.from(groups, (_, query) => upper[query]?.y ?? 0);
    for (let key = 0; key < count; key++) {
      for (let query = 0; query < count; query++) {
        const place = query * count + key;
        const width = widths[place]!;
        if (width === 0) continue;
        const end = enters[into(query)]!;
        enters[into(query)] = end + width;
        if (width < THINNEST) continue;
        const carried = scale * ((inA?.carried?.[layer]?.[place] ?? 0) + (inB?.carried?.[layer]?.[place] ?? 0));
        found.push({ layer, place, start: starts[place]!, end, width, carried });
      }
    }
  }
  return widest(found).map(({ layer, place, width, carried, start, end }) => {
    const [query, key] = [Math.floor(place / count), place % count];
    const isTop = layer === layers.length - 1;
    const [lower, upper] = [places[layer]![key]!, places[layer + 1]![isTop ? 0 : query]!];
    const between = (wide: number): Ribbon["band"] => {
      const inset = (width - wide) / 2;
      return [lower.x + BAR, start + inset, upper.x, end + inset, wide];
    };
    return {
      layer,
      query: isTop && (a ?? b)!.start === null ? null : query,
      key,
      a: inA?.strength[layer]?.[place] ?? 0,
      b: inB?.strength[layer]?.[place] ?? 0,
      band: between(width),
      carried: carried < THINNEST_CARRIED ? null : between(Math.max(0.4, carried)),
    };
  });
}
/** A ribbon to be: from which height to which, and how wide. */
interface Part {
  layer: number;
  /** query · groups + key */
  place: number;
  start: number;
  end: number;
  width: number;
  carried: number;
}

/** More can't be told apart, nor drawn while something is dragged. */
const MOST = 2000;

function widest(all: Part[]): Part[] {
  if (all.length <= MOST) return all;
  const widths = new Float32Array(all.length);
  for (const [place, { width }] of all.entries()) widths[place] = width;
  const least = widths.sort()[all.length - MOST]!;
  return all.filter(({ width, carried }) => carried >= THINNEST_CARRIED || width >= least);
}

function labels(
  { groups, layers, target, measure, height }: SankeyOptions,
  bars: readonly Bar[],
  step: number,
): BarLabel[] {
  const found: BarLabel[] = [];
  for (const level of Array.from({ length: layers.length + 1 }, (_, place) => place)) {
    let free = Number.NEGATIVE_INFINITY;
    for (const bar of bars.filter((one) => one.level === level)) {
      const y = Math.min(height - 6, bar.y + bar.height / 2);
      const isEdge = level === 0 || level === layers.length;
      const size = isEdge ? WORD : SMALL;
      if (y - size * 0.5 < free || (!isEdge && (step < 70 || bar.height < 7))) continue;
      const name = bar.group === null ? target : groups[bar.group]!.label;
      const text = fitted(name, size, level === 0 ? 84 : level === layers.length ? 110 : step * 0.8, measure);
      if (!text) continue;
      free = y + size * 0.5;
      found.push({
        level,
        group: bar.group,
        text,
        x: level === 0 ? bar.x - 6 : bar.x + BAR + 5,
        y,
        anchor: level === 0 ? "end" : "start",
        size,
      });
    }
  }
  return found;
}

/** The colour of what is in A, in B, or in both. */
export function linkColour({ a, b }: { a: number; b: number }, palette: Palette): string {
  return a > 0 && b > 0 ? palette.both : a > 0 ? palette.a : palette.b;
}

/** Bars, and ribbons behind them; `lit` says which ribbons stand out, null that all do alike. */
export function sankeyShapes(
  { bars, ribbons: all, bar }: SankeyDrawing,
  palette: Palette,
  colour: (link: Link) => string,
  lit: ((link: Link) => boolean) | null,
  isCarried: boolean,
  isDim: (bar: Bar) => boolean,
): Shapes[] {
  const behind = new Gathered("ribbons");
  const front = new Gathered("ribbons");
  for (const ribbon of all) {
    const isLit = lit?.(ribbon) ?? false;
    if (isCarried && ribbon.carried) front.of(colour(ribbon), 0.85).push(...ribbon.carried);
    if (isLit) front.of(colour(ribbon), 0.7).push(...ribbon.band);
    else behind.of(colour(ribbon), isCarried || lit ? 0.08 : 0.38).push(...ribbon.band);
  }
  const rects = new Gathered("rects");
  for (const one of bars) {
    const most = Math.max(one.a, one.b) || 1;
    const opacity = isDim(one) ? 0.25 : 1;
    const half = one.of === "both" ? bar / 2 : bar;
    rects.of(palette.rule, opacity).push(one.x, one.y, bar, one.height);
    if (one.a) rects.of(palette.a, opacity).push(one.x, one.y, half, (one.height * one.a) / most);
    if (one.b) rects.of(palette.b, opacity).push(one.x + bar - half, one.y, half, (one.height * one.b) / most);
  }
  return [...behind.list(), ...front.list(), ...rects.list()];
}
