/**
 * How much goes which way. The target's whole, 1, is divided among the tokens it draws on, in proportion to their
 * shares, theirs again, and so on down; and of each part it is known how much of it comes from some words: those of
 * the lowest level are of themselves, and a token further up is of what it draws on, in the same proportions.
 */

import type { Side } from "./graph";

export interface Amounts {
  /** By level and group. */
  levels: Float64Array[];
  /** By layer, and by query · groups + key: what goes this way. A logit stands in the place of the first group. */
  edges: Float32Array[];
  /** The strongest share that passes there. */
  strength: Float32Array[];
  /** What of `edges` comes from the words asked for. */
  carried: Float32Array[] | null;
}

export function divide(one: Side, of: Uint16Array, groups: number, from: readonly number[] | null = null): Amounts {
  const depth = one.found.edges.length;
  const tokens = of.length;
  const sums = one.found.edges.map(({ query, strength }) => {
    const found = new Float64Array(tokens);
    for (let edge = 0; edge < query.length; edge++) found[query[edge]!]! += strength[edge]!;
    return found;
  });
  const origin = from && origins(one, sums, from);
  const table = () => Array.from({ length: depth }, () => new Float32Array(groups * groups));
  const found: Amounts = {
    levels: Array.from({ length: depth }, () => new Float64Array(groups)),
    edges: table(),
    strength: table(),
    carried: origin && table(),
  };
  let above = new Float64Array(tokens);
  above[one.start ?? 0] = 1;
  for (let layer = depth - 1; layer >= 0; layer--) {
    const { query, key, strength } = one.found.edges[layer]!;
    const [edges, strengths, carried] = [found.edges[layer]!, found.strength[layer]!, found.carried?.[layer]];
    const below = new Float64Array(tokens);
    for (let edge = 0; edge < query.length; edge++) {
      const [upper, lower] = [query[edge]!, key[edge]!];
      const part = (above[upper]! * strength[edge]!) / (sums[layer]![upper]! || 1);
      below[lower]! += part;
      const place = of[upper]! * groups + of[lower]!;
      edges[place]! += part;
      if (strength[edge]! > strengths[place]!) strengths[place] = strength[edge]!;
      if (carried) carried[place]! += part * origin![layer]![lower]!;
    }
    for (let token = 0; token < tokens; token++) found.levels[layer]![of[token]!]! += below[token]!;
    above = below;
  }
  return found;
}

/** By level: how much of each token comes from some words. */
function origins(one: Side, sums: readonly Float64Array[], from: readonly number[]): Float64Array[] {
  const tokens = one.tokens.labels.length;
  const words = new Float64Array(tokens);
  for (const token of from) words[token] = 1;
  const found = [words];
  for (const [layer, { query, key, strength }] of one.found.edges.entries()) {
    const below = found[layer]!;
    const above = new Float64Array(tokens);
    for (let edge = 0; edge < query.length; edge++) {
      above[query[edge]!]! += (strength[edge]! / (sums[layer]![query[edge]!]! || 1)) * below[key[edge]!]!;
    }
    found.push(above);
  }
  return found;
}
