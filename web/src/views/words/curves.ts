/** How far the decision falls as words are taken away: lines by method, pure geometry. */

import { floats, type Parcel } from "../../api/parcel";
import type { Faithfulness } from "../../api/types";

export type Way = "comprehensiveness" | "sufficiency";

export interface Curve {
  method: string;
  aopc: number;
  path: string;
  last: readonly [number, number];
}

export interface Curves {
  curves: readonly Curve[];
  low: number;
  high: number;
  /** The height of no change. */
  zero: number;
}

export function curvesOf(parcel: Parcel<Faithfulness>, way: Way, width: number, height: number): Curves {
  const { methods, percent } = parcel.artifact;
  const values = floats(parcel, way);
  const aopc = floats(parcel, "aopc");
  let [low, high] = [0, 0.1];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const x = (share: number) => (share / 100) * width;
  const y = (value: number) => height - ((value - low) / (high - low)) * height;
  return {
    low,
    high,
    zero: y(0),
    curves: methods.map((method, row) => {
      const points = percent.map((share, place) => [x(share), y(values[row * percent.length + place]!)] as const);
      const all = [
        [x(0), y(way === "comprehensiveness" ? 0 : (values[row * percent.length] ?? 0))] as const,
        ...points,
      ];
      const drawn = way === "comprehensiveness" ? all : points;
      return {
        method,
        aopc: aopc[row]!,
        path: `M${drawn.map(([one, other]) => `${one.toFixed(1)} ${other.toFixed(1)}`).join("L")}`,
        last: points.at(-1)!,
      };
    }),
  };
}
