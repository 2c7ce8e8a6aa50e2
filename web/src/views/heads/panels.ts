/** Which matrices are drawn, side by side and under each other, and on which scales. */

import type { Parcel } from "../../api/parcel";
import type { Change, Heads, Slot } from "../../api/types";
import type { Choices } from "../../state/url";
import { divergenceOf, HOWS, type How, type Statistic, valuesOf } from "./statistics";

export type Scale = "a" | "b" | "both" | "difference";

export interface Panel {
  key: string;
  scale: Scale;
  how: How | null;
  /** (layer, head). */
  values: Float32Array;
  /** By layer: mean over heads. */
  means: Float32Array;
}

export interface Panels {
  layers: readonly number[];
  heads: readonly number[];
  rows: readonly (readonly Panel[])[];
  /** The largest number of the models' panels, and the largest difference either way. */
  most: number;
  furthest: number;
}

interface Given {
  heads: Partial<Record<Slot, Parcel<Heads>>>;
  /** By weight and by norm, where they are asked for. */
  change: Partial<Record<How, Parcel<Change>>>;
  statistic: Statistic;
  show: Choices["show"];
}

/** null where what is to be shown is not there: a difference of models that have other layers or heads. */
export function panelsOf({ heads, change, statistic, show }: Given): Panels | null {
  const hows: readonly (How | null)[] = statistic.split ? HOWS : [null];
  const first = heads.a ?? heads.b;
  if (!first) return null;
  const make = (key: string, scale: Scale, how: How | null, values: Float32Array, width: number): Panel => ({
    key: `${key}-${how ?? "one"}`,
    scale,
    how,
    values,
    means: meansOf(values, width),
  });
  if (statistic.between) {
    const row = hows.flatMap((how) => {
      const found = change[how!];
      return found ? [make("between", "both", how, divergenceOf(found), found.artifact.heads.length || 1)] : [];
    });
    const artifact = change.weight?.artifact ?? change.norm?.artifact;
    return artifact ? finished([row], artifact.layers, artifact.heads) : null;
  }
  const row = (slot: Slot): Panel[] => {
    const parcel = heads[slot];
    if (!parcel) return [];
    return hows.map((how) =>
      make(slot, slot, how, valuesOf(parcel, statistic, how ?? "weight"), parcel.artifact.heads.length),
    );
  };
  if (show === "diff" && heads.a && heads.b) {
    if (!alike(heads.a.artifact, heads.b.artifact)) return null;
    const [a, b] = [row("a"), row("b")];
    const apart = a.map((panel, place) =>
      make(
        "difference",
        "difference",
        panel.how,
        panel.values.map((value, at) => b[place]!.values[at]! - value),
        heads.a!.artifact.heads.length,
      ),
    );
    return finished([apart], heads.a.artifact.layers, heads.a.artifact.heads);
  }
  const slots: Slot[] = show === "a" || show === "b" ? [show] : ["a", "b"];
  const rows = slots.map(row).filter((found) => found.length > 0);
  // Models of another depth keep their own rows; the axes are those of the larger one.
  const larger = (heads.b?.artifact.layers.length ?? 0) > first.artifact.layers.length ? heads.b! : first;
  const wider = (heads.b?.artifact.heads.length ?? 0) > first.artifact.heads.length ? heads.b! : first;
  return finished(rows.length ? rows : [row("a")], larger.artifact.layers, wider.artifact.heads);
}

export function alike(a: Heads, b: Heads): boolean {
  return a.layers.length === b.layers.length && a.heads.length === b.heads.length;
}

function finished(rows: Panel[][], layers: readonly number[], heads: readonly number[]): Panels {
  let most = 0;
  let furthest = 0;
  for (const panel of rows.flat()) {
    for (const value of panel.values) {
      if (panel.scale === "difference") furthest = Math.max(furthest, Math.abs(value));
      else most = Math.max(most, value);
    }
  }
  return { layers, heads: heads.length ? heads : [1], rows, most: most || 1, furthest: furthest || 1 };
}

function meansOf(values: Float32Array, width: number): Float32Array {
  return Float32Array.from({ length: values.length / width }, (_, layer) => {
    let sum = 0;
    for (let head = 0; head < width; head++) sum += values[layer * width + head]!;
    return sum / width;
  });
}
