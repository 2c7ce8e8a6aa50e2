/** Where everything of the matrices lies: pure geometry, in pixels. */

export interface MatrixLayout {
  width: number;
  height: number;
  /** Across and down. */
  cell: number;
  tall: number;
  /** The corner of each panel's first cell, by row and column. */
  corners: readonly (readonly (readonly [number, number])[])[];
  layers: number;
  heads: number;
  /** Where the bars of the layers' means begin, behind the last head, and how long they may be. */
  meanFrom: number;
  meanLength: number;
  legendAt: number;
}

const LEFT = 28;
const TOP = 44;
const MEAN = 92;
const BETWEEN = 32;
const LEGEND = 36;
const LEAST = 9;
const USUAL = 30;
/** Where all of it is to be seen at once. */
const MOST = 44;
const TALLEST = 1.6;

interface Size {
  width: number;
  height: number;
  rows: number;
  columns: number;
  layers: number;
  heads: number;
}

export function matrixLayout({ width, height, rows, columns, layers, heads }: Size): MatrixLayout {
  const room = (width - BETWEEN * (columns - 1)) / columns - LEFT - MEAN;
  const high = Math.floor((height - LEGEND - rows * (TOP + BETWEEN / 2)) / (rows * layers));
  const cell = Math.max(LEAST, Math.min(Math.floor(room / heads), Math.max(USUAL, Math.min(high, MOST))));
  const tall = Math.max(cell, Math.min(Math.floor(cell * TALLEST), high, MOST));
  const across = LEFT + cell * heads + MEAN;
  const down = TOP + tall * layers;
  const corners = Array.from({ length: rows }, (_, row) =>
    Array.from(
      { length: columns },
      (_, column) => [column * (across + BETWEEN) + LEFT, row * (down + BETWEEN / 2) + TOP] as const,
    ),
  );
  const bottom = rows * down + (rows - 1) * (BETWEEN / 2);
  return {
    width: columns * across + (columns - 1) * BETWEEN,
    height: bottom + LEGEND,
    cell,
    tall,
    corners,
    layers,
    heads,
    meanFrom: cell * heads + 8,
    meanLength: MEAN - 52,
    legendAt: bottom + 20,
  };
}

export interface Cell {
  row: number;
  column: number;
  /** By place, from 0. */
  layer: number;
  head: number;
}

export function cellAt(layout: MatrixLayout, x: number, y: number): Cell | null {
  for (const [row, corners] of layout.corners.entries()) {
    for (const [column, [left, top]] of corners.entries()) {
      const head = Math.floor((x - left) / layout.cell);
      const layer = Math.floor((y - top) / layout.tall);
      if (head >= 0 && head < layout.heads && layer >= 0 && layer < layout.layers) return { row, column, layer, head };
    }
  }
  return null;
}

/** The head that an arrow key leads to; it stays inside. */
export function moved(
  [layer, head]: readonly [number, number],
  key: string,
  layers: number,
  heads: number,
): [number, number] {
  const [down, right] = ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key] ?? [
    0, 0,
  ]) as [number, number];
  return [clamp(layer + down, layers), clamp(head + right, heads)];
}

function clamp(place: number, count: number): number {
  return Math.min(Math.max(place, 0), count - 1);
}
