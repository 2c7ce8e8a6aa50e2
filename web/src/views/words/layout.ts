/** Where the words of the shaded text and the rows of the bars lie: pure geometry, in pixels. */

import { isFromTheRight } from "../../parts/tokens";
import type { Measure } from "../flow/lettering";
import type { Column, Row, Rows, Series } from "./rows";

export const TYPE = 16;
const LINE = 60;
/** How far a bar may rise above its word, or hang below it. */
export const REACH = 20;
const HIGH = 20;
const BLANK = 5;
const PAD = 1.5;
const TITLE = 20;

export interface WordBox {
  row: Row;
  x: number;
  /** The top of the word itself. */
  y: number;
  width: number;
  height: number;
  /** What it adds, as a share of the most, from −1 to 1. */
  amount: number;
}

export interface TextLayout {
  series: Series;
  top: number;
  boxes: readonly WordBox[];
  height: number;
}

/** The text as lines of words, each with its bar above or below. */
export function textLayout(found: Rows, series: Series, width: number, top: number, measure: Measure): TextLayout {
  const most = Math.max(...found.rows.map(({ values }) => Math.abs(values.contribution[series] ?? 0))) || 1;
  const inOrder = found.rows.toSorted((a, b) => a.place - b.place);
  const boxes: WordBox[] = [];
  let x = 0;
  let line = 0;
  const wide = (row: Row) => measure(row.name, row.special ? TYPE - 4 : TYPE) + 2 * PAD;
  for (const [at, row] of inOrder.entries()) {
    const own = wide(row);
    const gap = x === 0 ? 0 : between(inOrder[at - 1]!, row);
    // What can't begin a line goes to the next one with what stands before it.
    let together = own;
    for (let next = at + 1; next < inOrder.length && isGlued(inOrder[next]!); next++) together += wide(inOrder[next]!);
    if (x > 0 && x + gap + (isGlued(row) ? own : together) > width) {
      x = 0;
      line++;
    }
    const left = x === 0 ? 0 : x + gap;
    boxes.push({
      row,
      x: left,
      y: top + TITLE + REACH + line * LINE,
      width: own,
      height: HIGH,
      amount: (row.values.contribution[series] ?? 0) / most,
    });
    x = left + own;
  }
  const placed = isFromTheRight(inOrder.filter(({ special }) => !special).map(({ name }) => name))
    ? boxes.map((box) => ({ ...box, x: width - box.x - box.width }))
    : boxes;
  return { series, top, boxes: placed, height: TITLE + (line + 1) * LINE };
}

const UNSPACED = /[\u2E80-\u9FFF\uF900-\uFAFF\uFF00-\uFFEF]/u;

/** The blank between two words; scripts that write none have a hair's breadth. */
function between(before: Row, row: Row): number {
  if (isGlued(row)) return 0;
  return UNSPACED.test(before.name) && UNSPACED.test(row.name) ? 1 : BLANK;
}

/** Whether no blank stands before it. */
function isGlued({ name, starts }: Row): boolean {
  return !starts || /^[.,;:!?)\]}’”。、，！？]/u.test(name);
}

export interface ColumnPlace {
  column: Column;
  left: number;
  width: number;
  /** Where a bar of nothing stands. */
  zero: number;
  /** Pixels for one unit. */
  scale: number;
  signed: boolean;
}

export interface BarsLayout {
  top: number;
  labels: number;
  columns: readonly ColumnPlace[];
  row: number;
  /** Below the rows: the bias, and the sum. */
  ends: readonly ("bias" | "sum")[];
  head: number;
  height: number;
}

const HEAD = 44;
const NUMBER = 44;
const GAP = 24;
export const LABEL = 120;

export function barsLayout(found: Rows, width: number, top: number, widest: number): BarsLayout {
  const labels = Math.min(LABEL, widest + 12);
  const shown = (["contribution", "weight", "norm"] as const).filter((column) => found.series[column].length > 0);
  const shares = shown.map((column) => (column === "contribution" ? 2.2 : 1));
  const whole = shares.reduce((sum, one) => sum + one, 0);
  const room = Math.max(width - labels - GAP * shown.length, 160);
  let left = labels + GAP / 2;
  const columns = shown.map((column, at): ColumnPlace => {
    const wide = (room * shares[at]!) / whole;
    const [low, high] = found.reach[column];
    const inside = wide - (low < 0 ? NUMBER : 0) - (high > 0 ? NUMBER : 0);
    const scale = Math.max(inside, 8) / (high - low || 1);
    const place = {
      column,
      left,
      width: wide,
      zero: left + (low < 0 ? NUMBER - low * scale : 0),
      scale,
      signed: (column === "contribution" && found.signed) || found.series[column].includes("diff"),
    };
    left += wide + GAP;
    return place;
  });
  const many = Math.max(...shown.map((column) => found.series[column].length));
  const row = many > 1 ? 24 : 20;
  const ends =
    found.decisions.some(({ bias }) => bias !== null) && found.series.contribution.some((series) => series !== "diff")
      ? (["bias", "sum"] as const)
      : [];
  return {
    top,
    labels,
    columns,
    row,
    ends,
    head: HEAD,
    height: HEAD + row * (found.rows.length + ends.length) + (ends.length ? 12 : 0) + 8,
  };
}

/** The row under a height, by place in the order shown; null outside of the words. */
export function rowAt(layout: BarsLayout, rows: number, y: number): number | null {
  const place = Math.floor((y - layout.top - layout.head) / layout.row);
  return place >= 0 && place < rows ? place : null;
}

export function wordAt(layout: TextLayout, x: number, y: number): WordBox | null {
  return (
    layout.boxes.find(
      (box) => x >= box.x && x < box.x + box.width && y >= box.y - REACH && y < box.y + box.height + REACH,
    ) ?? null
  );
}
