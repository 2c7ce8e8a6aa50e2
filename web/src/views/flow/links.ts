/** Who draws on whom, by groups: the links of what is selected or pointed at. */

import { divide } from "./amounts";
import type { Side } from "./graph";

export interface Link {
  /** Place of the layer among those drawn. */
  layer: number;
  /** null: the logit. */
  query: number | null;
  key: number;
  /** How strong it is in each model; 0 where it has no such link. */
  a: number;
  b: number;
}

/** The links at one token of one level, by their strongest share: to what draws on it, and from what it draws on. */
export function linksAt(a: Side | null, b: Side | null, of: Uint16Array, level: number, group: number): Link[] {
  const found = new Links();
  for (const [slot, one] of both(a, b)) {
    for (const layer of [level, level - 1]) {
      const edges = one.found.edges[layer];
      if (!edges) continue;
      for (let edge = 0; edge < edges.query.length; edge++) {
        const [query, key] = [of[edges.query[edge]!]!, of[edges.key[edge]!]!];
        if ((layer === level ? key : query) !== group) continue;
        const link = found.at(layer, isLogit(one, layer) ? null : query, key);
        link[slot] = Math.max(link[slot], edges.strength[edge]!);
      }
    }
  }
  return found.list();
}

/** What some words hand on to the target, link by link: parts of the target's whole in each model. */
export function carriedLinks(
  a: Side | null,
  b: Side | null,
  of: Uint16Array,
  groups: number,
  from: readonly number[],
): Link[] {
  const found = new Links();
  for (const [slot, one] of both(a, b)) {
    for (const [layer, amounts] of (divide(one, of, groups, from).carried ?? []).entries()) {
      for (let place = 0; place < amounts.length; place++) {
        if (amounts[place] === 0) continue;
        const query = isLogit(one, layer) ? null : Math.floor(place / groups);
        found.at(layer, query, place % groups)[slot] = amounts[place]!;
      }
    }
  }
  return found.list();
}

function both(a: Side | null, b: Side | null): ["a" | "b", Side][] {
  return [...(a ? [["a", a] as ["a", Side]] : []), ...(b ? [["b", b] as ["b", Side]] : [])];
}

function isLogit(one: Side, layer: number): boolean {
  return one.start === null && layer === one.found.edges.length - 1;
}

class Links {
  private readonly known = new Map<string, Link>();

  at(layer: number, query: number | null, key: number): Link {
    const name = `${layer} ${query} ${key}`;
    let link = this.known.get(name);
    if (!link) {
      link = { layer, query, key, a: 0, b: 0 };
      this.known.set(name, link);
    }
    return link;
  }

  list(): Link[] {
    return [...this.known.values()];
  }
}
