import { useCallback, useLayoutEffect, useRef } from "react";
import { later } from "../../export/svg";
import { packed, type Shapes, written } from "./ink";
import type { Painting } from "./painter";
import Painter from "./painter?worker";

interface Props {
  shapes: readonly Shapes[];
  width: number;
  height: number;
  /** Where the shapes' zero lies. */
  x?: number;
  y?: number;
}

/** Shapes on a canvas, under a drawing's SVG. */
export function Painted({ shapes, width, height, x = 0, y = 0 }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const painter = useRef<Worker>(null);
  useLayoutEffect(() => {
    // A canvas can be handed over once, so that each painter has one of its own.
    const canvas = document.createElement("canvas");
    place.current?.append(canvas);
    const worker = new Painter();
    const handed = canvas.transferControlToOffscreen();
    worker.postMessage(handed, [handed]);
    painter.current = worker;
    return () => {
      worker.terminate();
      canvas.remove();
    };
  }, []);
  useLayoutEffect(() => {
    const scale = devicePixelRatio || 1;
    const painting: Painting = {
      shapes: shapes.map(packed),
      width: Math.round(width * scale),
      height: Math.round(height * scale),
      scale,
      x: x * scale,
      y: y * scale,
    };
    painter.current?.postMessage(painting);
  }, [shapes, width, height, x, y]);
  return <div ref={place} className="drawing" style={{ width, height }} />;
}

/** In the SVG, the place of what is painted: written there when the drawing is kept. */
export function Written({ shapes }: { shapes: readonly Shapes[] }) {
  const place = useCallback(
    (element: SVGGElement | null) => {
      if (element) later(element, () => written(shapes));
    },
    [shapes],
  );
  return <g ref={place} data-later="" />;
}
