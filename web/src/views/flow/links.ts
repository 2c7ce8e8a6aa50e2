/** Who draws on whom, by groups: the links of what is selected or pointed at, and the ribbons of the Sankey drawing. */

import { divide } from "./amounts";
import type { Side } from "./graph";

export interface Link {
  /** Place of the layer among those drawn. */
  layer: number;
  /** null: the logit. */
  query: number | null;
  key: number;
  /** The strongest passing share in each model; 0 where it has no such edge. */
  a: number;
  b: number;
}

/** Is an edge of a layer wanted? By its place among the layer's edges. */
export type Wanted = (side: Side, layer: number, edge: number) => boolean;

export function linksOf(a: Side | null, b: Side | null, of: Uint16Array, wanted: Wanted): Link[] {
  const found = new Map<string, Link>();
  for (const [slot, one] of [
    ["a", a],
    ["b", b],
  ] as const) {
    if (!one) continue;
    for (const [layer, edges] of one.found.edges.entries()) {
      const isLogit = one.start === null && layer === one.found.edges.length - 1;
      for (let edge = 0; edge < edges.query.length; edge++) {
        if (!wanted(one, layer, edge)) continue;
        const query = isLogit ? null : of[edges.query[edge]!]!;
        const key = of[edges.key[edge]!]!;
        const name = `${layer} ${query} ${key}`;
        const link = found.get(name) ?? { layer, query, key, a: 0, b: 0 };
        link[slot] = Math.max(link[slot], edges.strength[edge]!);
        found.set(name, link);
      }
    }
  }
  return [...found.values()];
}

/** What some words hand on to the target, link by link: `a` and `b` are parts of the target's whole in each model. */
export function carriedLinks(
  a: Side | null,
  b: Side | null,
  of: Uint16Array,
  groups: number,
  from: readonly number[],
): Link[] {
  const found = new Map<string, Link>();
  for (const [slot, one] of [
    ["a", a],
    ["b", b],
  ] as const) {
    if (!one) continue;
    for (const [layer, amounts] of divide(one, of, groups, from).carried.entries()) {
      for (const [place, amount] of amounts) {
        const isLogit = one.start === null && layer === one.found.edges.length - 1;
        const [query, key] = [isLogit ? null : Math.floor(place / groups), place % groups];
        const name = `${layer} ${query} ${key}`;
        const link = found.get(name) ?? { layer, query, key, a: 0, b: 0 };
        link[slot] += amount;
        found.set(name, link);
      }
    }
  }
  return [...found.values()];
}

/** The links at one token of one level: to what draws on it, and from what it draws on. */
export function at(level: number, group: number, of: Uint16Array): Wanted {
  return ({ found }, layer, edge) => {
    const edges = found.edges[layer]!;
    return (
      (layer === level && of[edges.key[edge]!] === group) || (layer === level - 1 && of[edges.query[edge]!] === group)
    );
  };
}
