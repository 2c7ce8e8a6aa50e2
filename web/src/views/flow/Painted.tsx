import { type RefObject, useCallback, useLayoutEffect, useRef } from "react";
import { later } from "../../export/svg";
import { paint, type Shapes, written } from "./ink";

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
  const ref: RefObject<HTMLCanvasElement | null> = useRef(null);
  useLayoutEffect(() => {
    const canvas = ref.current;
    const context = canvas?.getContext("2d");
    if (!canvas || !context) return;
    const scale = devicePixelRatio || 1;
    const [wide, tall] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== wide || canvas.height !== tall) {
      canvas.width = wide;
      canvas.height = tall;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, wide, tall);
    context.setTransform(scale, 0, 0, scale, x * scale, y * scale);
    paint(context, shapes);
  }, [shapes, width, height, x, y]);
  return <canvas ref={ref} className="drawing" style={{ width, height }} />;
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
