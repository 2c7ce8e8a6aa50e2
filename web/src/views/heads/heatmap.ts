/** A map of tokens by tokens as pixels and places: pure functions of typed arrays. */

/** Which rows and columns are looked at: from, and how many. */
export interface Range {
  query: readonly [number, number];
  key: readonly [number, number];
}

export interface HeatLayout {
  /** The length of a side of the plot. */
  width: number;
  height: number;
  /** Pixels for a cell; below 1, several cells share a pixel. */
  cell: number;
  left: number;
  top: number;
  /** The type size of labels; 0 where there is no room for them. */
  type: number;
  range: Range;
}

const LARGEST_CELL = 34;
const LABELLED = 9;
const TYPE = 11;

interface Room {
  /** For the labels and the plot together. */
  width: number;
  height: number;
  queries: number;
  keys: number;
  /** The widest label at the full type size. */
  widest: number;
}

export const MOST_LABEL = 88;

export function whole(queries: number, keys: number): Range {
  return { query: [0, queries], key: [0, keys] };
}

/** Cells are squares; labels are there where a cell is as high as a line of small type. */
export function heatLayout({ width, height, widest }: Room, range: Range): HeatLayout {
  const [rows, columns] = [range.query[1], range.key[1]];
  const margin = Math.min(widest, MOST_LABEL) + 8;
  const fitted = (left: number) => Math.min((width - left) / columns, (height - left) / rows, LARGEST_CELL);
  let cell = fitted(margin);
  const labelled = cell >= LABELLED;
  const left = labelled ? margin : 16;
  if (!labelled) cell = fitted(left);
  if (cell >= 6) cell = Math.floor(cell);
  return {
    width: cell * columns,
    height: cell * rows,
    cell,
    left,
    top: left,
    type: labelled ? Math.min(TYPE, Math.max(8, cell - 2)) : 0,
    range,
  };
}

/** The cell under a point of the plot, by place in the whole map. */
export function cellUnder(layout: HeatLayout, x: number, y: number): { query: number; key: number } | null {
  if (x < 0 || y < 0 || x >= layout.width || y >= layout.height) return null;
  return {
    query: layout.range.query[0] + Math.floor(y / layout.cell),
    key: layout.range.key[0] + Math.floor(x / layout.cell),
  };
}

interface Painting {
  values: Float32Array;
  /** Keys of the whole map: the length of a row. */
  columns: number;
  range: Range;
  /** Colours of the scale, three bytes each (`lookup`). */
  colours: Uint8ClampedArray;
  low: number;
  high: number;
  /** Pixels to paint; as many as there are cells, or fewer. */
  across: number;
  down: number;
}

/** RGBA pixels; where several cells share one, it shows the one that is furthest from nothing, so that none is lost. */
export function pixels({ values, columns, range, colours, low, high, across, down }: Painting): Uint8ClampedArray {
  const found = new Uint8ClampedArray(across * down * 4);
  const steps = colours.length / 3 - 1;
  const [firstRow, rows] = range.query;
  const [firstColumn, width] = range.key;
  for (let y = 0; y < down; y++) {
    const [fromRow, toRow] = [Math.floor((y * rows) / down), Math.max(Math.floor(((y + 1) * rows) / down), 1)];
    for (let x = 0; x < across; x++) {
      const fromColumn = Math.floor((x * width) / across);
      const toColumn = Math.max(Math.floor(((x + 1) * width) / across), fromColumn + 1);
      let value = 0;
      for (let row = fromRow; row < Math.max(toRow, fromRow + 1); row++) {
        for (let column = fromColumn; column < toColumn; column++) {
          const here = values[(firstRow + row) * columns + firstColumn + column]!;
          if (Math.abs(here) > Math.abs(value)) value = here;
        }
      }
      const place = Math.round(depth(value, low, high) * steps) * 3;
      found.set([colours[place]!, colours[place + 1]!, colours[place + 2]!, 255], (y * across + x) * 4);
    }
  }
  return found;
}

/**
 * How deep in the scale a value is, from 0 to 1: by its square root, because most values are small. Between negative
 * and positive ones the middle is nothing.
 */
export function depth(value: number, low: number, high: number): number {
  const share = Math.sqrt(Math.min(1, Math.abs(value) / (high || 1)));
  return low < 0 ? (1 + Math.sign(value) * share) / 2 : share;
}

export function largest(arrays: readonly Float32Array[]): number {
  let found = 0;
  for (const values of arrays) for (const value of values) found = Math.max(found, Math.abs(value));
  return found || 1;
}

/** A range a step nearer to a cell, or further from it; null: all of it. */
export function zoomed(range: Range, all: Range, at: { query: number; key: number }, nearer: boolean): Range {
  const side = ([from, count]: readonly [number, number], whole: number, place: number): readonly [number, number] => {
    const next = Math.min(whole, Math.max(Math.min(6, whole), Math.round(nearer ? count / 2 : count * 2)));
    const share = count ? (place - from) / count : 0;
    return [Math.min(Math.max(0, Math.round(place - share * next)), whole - next), next];
  };
  return {
    query: side(range.query, all.query[1], at.query),
    key: side(range.key, all.key[1], at.key),
  };
}

/** The range moved, if need be, so that a cell is in it. */
export function following(range: Range, at: { query: number; key: number }): Range {
  const side = ([from, count]: readonly [number, number], place: number): readonly [number, number] =>
    place < from ? [place, count] : place >= from + count ? [place - count + 1, count] : [from, count];
  return { query: side(range.query, at.query), key: side(range.key, at.key) };
}
