/** A worker that paints what it is handed, so that the page needn't wait for it; of several in one frame, the last. */

import { type Packed, paint } from "./ink";

export interface Painting {
  shapes: Packed[];
  /** Of the canvas, in its own pixels, of which there are so many to a unit of the shapes. */
  width: number;
  height: number;
  scale: number;
  /** Where the shapes' zero lies. */
  x: number;
  y: number;
}

let canvas: OffscreenCanvas | undefined;
let next: Painting | undefined;

addEventListener("message", ({ data }: MessageEvent<OffscreenCanvas | Painting>) => {
  if (data instanceof OffscreenCanvas) {
    canvas = data;
    return;
  }
  if (!next) requestAnimationFrame(paintNext);
  next = data;
});

function paintNext(): void {
  const context = canvas?.getContext("2d");
  if (!canvas || !context || !next) return;
  const { shapes, width, height, scale, x, y } = next;
  next = undefined;
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height);
  context.setTransform(scale, 0, 0, scale, x, y);
  paint(context, shapes);
}
