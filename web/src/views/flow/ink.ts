/**
 * Many shapes at once, as numbers: thousands of them are painted on a canvas (by `painter.ts`) while something is
 * dragged, and written out as SVG only when they are to be kept. What is painted and what is written is the same.
 */

import { line as lineOf, n, quad, rect, ribbon, sector } from "./polar";

interface Look {
  fill?: string;
  stroke?: string;
  width?: number;
  opacity?: number;
}

/** How many numbers each kind takes. */
const SIZES = { sectors: 4, quads: 8, rects: 4, ribbons: 5 } as const;

type Of<Numbers> = Look &
  (
    | {
        /**
         * sectors: from, to, inner, outer · quads: four corners · rects: x, y, width, height · ribbons: from x, y, to
         * x, y, and how wide
         */
        kind: keyof typeof SIZES;
        data: Numbers;
      }
    /** Points one after the other. */
    | { kind: "lines"; data: Numbers[] }
  );

export type Shapes = Of<number[]>;

/** As they are handed to the painter: a canvas needs no more digits, and numbers of one size travel as one piece. */
export type Packed = Of<Float32Array>;

export function packed(shapes: Shapes): Packed {
  return shapes.kind === "lines"
    ? { ...shapes, data: shapes.data.map((points) => new Float32Array(points)) }
    : { ...shapes, data: new Float32Array(shapes.data) };
}

export function paint(context: OffscreenCanvasRenderingContext2D, all: readonly Packed[]): void {
  for (const shapes of all) {
    context.globalAlpha = shapes.opacity ?? 1;
    if (shapes.kind === "ribbons") {
      paintRibbons(context, shapes.data, shapes.fill ?? "");
      continue;
    }
    context.beginPath();
    trace(context, shapes);
    if (shapes.fill) {
      context.fillStyle = shapes.fill;
      context.fill();
    }
    if (shapes.stroke) {
      context.strokeStyle = shapes.stroke;
      context.lineWidth = shapes.width ?? 1;
      context.lineJoin = "round";
      context.stroke();
    }
  }
  context.globalAlpha = 1;
}

function trace(context: OffscreenCanvasRenderingContext2D, shapes: Packed): void {
  if (shapes.kind === "lines") {
    for (const points of shapes.data) {
      for (let place = 0; place < points.length; place += 2) {
        if (place === 0) context.moveTo(points[0]!, points[1]!);
        else context.lineTo(points[place]!, points[place + 1]!);
      }
    }
    return;
  }
  // Shapes are closed by hand: closePath takes a browser the longer, the more there is in a path.
  const { kind, data } = shapes;
  for (let place = 0; place < data.length; place += SIZES[kind]) {
    const [a, b, c, d] = [data[place]!, data[place + 1]!, data[place + 2]!, data[place + 3]!];
    if (kind === "quads") {
      context.moveTo(a, b);
      context.lineTo(c, d);
      context.lineTo(data[place + 4]!, data[place + 5]!);
      context.lineTo(data[place + 6]!, data[place + 7]!);
      context.lineTo(a, b);
    } else if (kind === "rects") context.rect(a, b, c, d);
    else if (kind === "sectors") {
      // A canvas counts angles from three o'clock.
      const turn = Math.PI / 2;
      context.moveTo(d * Math.sin(a), -d * Math.cos(a));
      context.arc(0, 0, d, a - turn, b - turn);
      context.arc(0, 0, c, b - turn, a - turn, true);
      context.lineTo(d * Math.sin(a), -d * Math.cos(a));
    }
  }
}

/** Thinner ones are lines, which look the same and take a fraction of the time. */
const THIN = 3;

function paintRibbons(context: OffscreenCanvasRenderingContext2D, data: Float32Array, colour: string): void {
  context.fillStyle = colour;
  context.strokeStyle = colour;
  for (let place = 0; place < data.length; place += SIZES.ribbons) {
    const [x0, y0, x1, y1] = [data[place]!, data[place + 1]!, data[place + 2]!, data[place + 3]!];
    const width = data[place + 4]!;
    const middle = (x0 + x1) / 2;
    context.beginPath();
    if (width < THIN) {
      const [from, to] = [y0 + width / 2, y1 + width / 2];
      context.lineWidth = width;
      context.moveTo(x0, from);
      context.bezierCurveTo(middle, from, middle, to, x1, to);
      context.stroke();
    } else {
      context.moveTo(x0, y0);
      context.bezierCurveTo(middle, y0, middle, y1, x1, y1);
      context.lineTo(x1, y1 + width);
      context.bezierCurveTo(middle, y1 + width, middle, y0 + width, x0, y0 + width);
      context.fill();
    }
  }
}

/** The same as SVG. Nothing in it comes from a text. */
export function written(all: readonly Shapes[]): string {
  return all
    .flatMap(apart)
    .map((shapes) => `<path d="${path(shapes)}" ${look(shapes)}/>`)
    .join("");
}

/** Ribbons that cross show through each other, each being a shape of its own. */
function apart(shapes: Shapes): Shapes[] {
  if (shapes.kind !== "ribbons") return [shapes];
  const count = shapes.data.length / SIZES.ribbons;
  return Array.from({ length: count }, (_, place) => ({
    ...shapes,
    data: shapes.data.slice(place * SIZES.ribbons, (place + 1) * SIZES.ribbons),
  }));
}

/** One path through all of them. */
export function path(shapes: Shapes): string {
  if (shapes.kind === "lines") return shapes.data.map(lineOf).join("");
  const { kind, data } = shapes;
  let found = "";
  for (let place = 0; place < data.length; place += SIZES[kind]) {
    const one = data.slice(place, place + SIZES[kind]) as [number, number, number, number, number];
    const [a, b, c, d, e] = one;
    if (kind === "quads") found += quad(one);
    else if (kind === "rects") found += rect(a, b, c, d);
    else if (kind === "sectors") found += sector(a, b, c, d);
    else found += ribbon(a, b, c, d, e);
  }
  return found;
}

function look({ fill, stroke, width, opacity }: Look): string {
  const found = [`fill="${fill ?? "none"}"`];
  if (stroke) found.push(`stroke="${stroke}" stroke-width="${n(width ?? 1)}" stroke-linejoin="round"`);
  if (opacity !== undefined && opacity < 1) found.push(`opacity="${opacity}"`);
  return found.join(" ");
}

/** Shapes of one kind, gathered by how they look. */
export class Gathered<K extends keyof typeof SIZES> {
  private readonly known = new Map<string, { fill: string; opacity: number; data: number[] }>();
  private readonly kind: K;

  constructor(kind: K) {
    this.kind = kind;
  }

  /** Where the numbers of another shape of this look go. */
  of(fill: string, opacity = 1): number[] {
    const key = `${fill} ${opacity}`;
    let found = this.known.get(key);
    if (!found) {
      found = { fill, opacity, data: [] };
      this.known.set(key, found);
    }
    return found.data;
  }

  list(): Shapes[] {
    return [...this.known.values()].map((one) => ({ kind: this.kind, ...one }));
  }
}
