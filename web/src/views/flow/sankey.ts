/**
 * The same graph as columns of tokens, layer by layer to the target at the right. The target's whole is divided among
 * the tokens it draws on, in proportion to their shares, and so on down to the words: what enters a token leaves it.
 * Where tracing ends above the words, because nothing passes the threshold there, so does the ribbon.
 */

import type { Palette } from "../../design/colour";
import { type Amounts, divide } from "./amounts";
import type { Side } from "./graph";
import type { Group } from "./groups";
import { fitted, type Measure } from "./lettering";
import { type Link, linksOf } from "./links";
import { n } from "./polar";

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
}

export interface Ribbon extends Link {
  path: string;
  width: number;
  /** What of it comes from the selected word; empty if nothing does. */
  carried: string;
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
const THINNEST = 0.12;

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
  const places = new Map<string, Bar>();
  for (let level = 0; level <= layers.length; level++) {
    const column: Bar[] = [];
    const isTop = level === layers.length;
    const count = isTop ? 1 : groups.length;
    for (let place = 0; place < count; place++) {
      const [inA, inB] = isTop
        ? [a ? 1 : 0, b ? 1 : 0]
        : [divided.a?.levels[level]?.[place] ?? 0, divided.b?.levels[level]?.[place] ?? 0];
      if (inA + inB <= 0) continue;
      const bar = {
        level,
        group: isTop ? null : place,
        x: x(level),
        y: 0,
        height: Math.max(0.5, ((inA + inB) / sides) * scale),
        a: inA,
        b: inB,
      };
      column.push(bar);
      places.set(`${level} ${bar.group}`, bar);
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
  { a, b, of, groups, layers }: SankeyOptions,
  divided: { a: Amounts | null; b: Amounts | null },
  places: ReadonlyMap<string, Bar>,
  scale: number,
): Ribbon[] {
  const links = linksOf(a, b, of, () => true).map((link) => {
    // The logit is kept as the token 0 that stands for it.
    const isTop = link.layer === layers.length - 1;
    const query = link.query ?? of[0]!;
    const place = query * groups.length + link.key;
    const amount = (divided.a?.edges[link.layer]?.get(place) ?? 0) + (divided.b?.edges[link.layer]?.get(place) ?? 0);
    const above = places.get(`${link.layer + 1} ${isTop ? null : query}`);
    const carried =
      (divided.a?.carried[link.layer]?.get(place) ?? 0) + (divided.b?.carried[link.layer]?.get(place) ?? 0);
    const below = places.get(`${link.layer} ${link.key}`);
    return { link, width: amount * scale, carried: carried * scale, below, above };
  });
  const leaves = new Map<Bar, number>();
  const enters = new Map<Bar, number>();
  const found: Ribbon[] = [];
  const order = links
    .filter((one) => one.below && one.above && one.width > 0)
    .sort((one, other) => one.above!.y - other.above!.y || one.below!.y - other.below!.y);
  const start = new Map<(typeof order)[number], number>();
  for (const one of order) {
    start.set(one, leaves.get(one.below!) ?? one.below!.y);
    leaves.set(one.below!, start.get(one)! + one.width);
  }
  for (const one of order.toSorted((x, y) => x.below!.y - y.below!.y || x.above!.y - y.above!.y)) {
    const end = enters.get(one.above!) ?? one.above!.y;
    enters.set(one.above!, end + one.width);
    if (one.width < THINNEST) continue;
    const between = (width: number) =>
      ribbon(
        one.below!.x + BAR,
        start.get(one)! + (one.width - width) / 2,
        one.above!.x,
        end + (one.width - width) / 2,
        width,
      );
    const carried = one.carried < THINNEST / 2 ? "" : between(Math.max(0.4, one.carried));
    found.push({ ...one.link, path: between(one.width), width: one.width, carried });
  }
  return found;
}

function ribbon(x0: number, y0: number, x1: number, y1: number, width: number): string {
  const middle = n((x0 + x1) / 2);
  return (
    `M${n(x0)} ${n(y0)}C${middle} ${n(y0)} ${middle} ${n(y1)} ${n(x1)} ${n(y1)}` +
    `V${n(y1 + width)}C${middle} ${n(y1 + width)} ${middle} ${n(y0 + width)} ${n(x0)} ${n(y0 + width)}Z`
  );
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
