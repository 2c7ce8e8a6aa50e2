/** The traced graph as a table: each edge of each model, head by head. */

import type { Cell } from "../../export/csv";
import type { Side } from "./graph";
import type { Flow } from "./useFlow";

export const HEADER = ["model", "layer", "head", "query", "key", "share"];

export function table(flow: Flow): { header: readonly string[]; rows: Iterable<readonly Cell[]> } {
  return { header: HEADER, rows: rows(flow) };
}

function* rows({ a, b, maps, target }: Pick<Flow, "a" | "b" | "maps" | "target">): Iterable<readonly Cell[]> {
  for (const [name, one] of [
    ["A", a],
    ["B", b],
  ] as const)
    if (one) yield* edges(name, one, maps.heads, target);
}

function* edges(
  name: string,
  { found, layers, tokens, start, heads }: Side,
  numbers: readonly number[],
  target: string,
): Iterable<readonly Cell[]> {
  for (const [place, layer] of found.edges.entries()) {
    const isLogit = start === null && place === layers.length - 1;
    for (const [pass, edge] of layer.passEdge.entries()) {
      const head = heads[place] === 1 ? null : (numbers[layer.passHead[pass]!] ?? null);
      const query = isLogit ? target : tokens.labels[layer.query[edge]!]!;
      yield [name, layers[place]!, head, query, tokens.labels[layer.key[edge]!]!, layer.passShare[pass]!];
    }
  }
}
