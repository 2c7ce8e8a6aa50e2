/** From maps and choices to the traced graph of one model, and to what is drawn of one or two of them. */

import { array, floats, type Parcel } from "../../api/parcel";
import type { Maps, TokenList } from "../../api/types";
import { type LayerMap, type Trace, trace } from "../../methods/tracing";
import { type Group, groupOf } from "./groups";

export interface Tracing {
  threshold: number;
  /** First and last layer, from 1; null: all. */
  layers: readonly [number, number] | null;
  /** From 1; null: all. */
  heads: readonly number[] | null;
  /** The token to trace back from; of no consequence where there is a logit. */
  target: number;
  /** What each token that enters the last layer contributes to a logit, by which tracing begins; null for a token. */
  last: Float32Array | null;
  decay?: number;
  /** Keep only so many keys of each query. */
  top?: number | null;
}

/** The graph of one model, with what is drawn of its tokens. */
export interface Side {
  tokens: TokenList;
  /** The layers' numbers, from the first that was chosen. */
  layers: number[];
  /** How many heads each layer has; 1 where all are together. */
  heads: number[];
  found: Trace;
  /** Where tracing began: the token, or null for a logit. */
  start: number | null;
  /** By level below the top: each token's influence as a share of the level's. */
  share: Float32Array[];
  /** By layer: the largest share that passes, by head · tokens + key. */
  strength: Float32Array[];
  /** By layer: what each key receives from the queries that are reached, the mean over heads and queries. */
  received: Float32Array[];
}

export function side(parcel: Parcel<Maps>, options: Tracing): Side {
  const { artifact } = parcel;
  const tokens = artifact.tokens.labels.length;
  const [first, end] = options.layers ?? [1, artifact.layers.length];
  const numbers = artifact.layers.filter((layer) => layer >= first && layer <= end);
  const layers = numbers.length > 0 ? numbers : [...artifact.layers];
  const maps = layers.map((layer) => layerMap(parcel, artifact.layers.indexOf(layer)));
  // A class is decided behind the last layer: a range that ends below it is traced from the token.
  const isLogit = options.last !== null && layers.at(-1) === artifact.layers.at(-1);
  if (isLogit) maps[maps.length - 1] = contributions(parcel, options.last!);
  const start = isLogit ? 0 : options.target;
  const heads = artifact.heads.length > 0 && options.heads ? options.heads.map((head) => head - 1) : null;
  const found = trace(maps, tokens, [start], { ...options, heads });
  return {
    tokens: artifact.tokens,
    layers,
    heads: maps.map((map) => map.heads),
    found,
    start: isLogit ? null : start,
    share: found.influence.slice(0, -1).map(shares),
    strength: found.edges.map((edges, layer) => {
      const strongest = new Float32Array(maps[layer]!.heads * tokens);
      for (let pass = 0; pass < edges.passEdge.length; pass++) {
        const place = edges.passHead[pass]! * tokens + edges.key[edges.passEdge[pass]!]!;
        if (edges.passShare[pass]! > strongest[place]!) strongest[place] = edges.passShare[pass]!;
      }
      return strongest;
    }),
    received: maps.map((map, layer) => received(map, tokens, heads, found.reached[layer + 1]!)),
  };
}

/** The largest share, over heads, of what a token takes in behind the last layer. */
export function strongestShare(parcel: Parcel<Maps>, token: number): number {
  const top = layerMap(parcel, parcel.artifact.layers.length - 1);
  const tokens = parcel.artifact.tokens.labels.length;
  let most = 0;
  for (let head = 0; head < top.heads; head++) most = Math.max(most, top.share[(head * tokens + token) * top.kept]!);
  return most;
}

const layerMaps = new WeakMap<Parcel<Maps>, LayerMap[]>();

/** One layer of the parcel, as it lies there. */
export function layerMap(parcel: Parcel<Maps>, layer: number): LayerMap {
  let found = layerMaps.get(parcel);
  if (!found) {
    const { shape, data } = array(parcel, "key");
    const [layers, heads, queries, kept] = shape as [number, number, number, number];
    const size = heads * queries * kept;
    const share = floats(parcel, "share");
    found = Array.from({ length: layers }, (_, place) => ({
      heads,
      kept,
      key: (data as Uint16Array).subarray(place * size, (place + 1) * size),
      share: share.subarray(place * size, (place + 1) * size),
    }));
    layerMaps.set(parcel, found);
  }
  return found[layer]!;
}

/**
 * The step from a logit to the tokens that enter the last layer, by the size of what each contributes. It stands in
 * the place of the last layer's map, for the token 0 that stands for the logit. Through layers together, each of
 * those tokens hands on what it is made of.
 */
function contributions(parcel: Parcel<Maps>, last: Float32Array): LayerMap {
  const tokens = last.length;
  let parts = shares(Float64Array.from(last, Math.abs));
  const { reading, layers } = parcel.artifact;
  if (reading !== "direct" && layers.length > 1) parts = handedOn(layerMap(parcel, layers.length - 2), parts);
  const order = Array.from({ length: tokens }, (_, token) => token).sort(
    (one, other) => parts[other]! - parts[one]! || one - other,
  );
  return {
    heads: 1,
    kept: tokens,
    key: Uint16Array.from(order),
    share: Float32Array.from(order, (token) => parts[token]!),
  };
}

function handedOn(map: LayerMap, parts: Float32Array): Float32Array {
  const found = new Float32Array(parts.length);
  for (let query = 0; query < parts.length; query++) {
    for (let place = query * map.kept; place < (query + 1) * map.kept; place++) {
      found[map.key[place]!]! += parts[query]! * map.share[place]!;
    }
  }
  return found;
}

/** What is known of a layer's maps, by their shares: nothing of it changes while what is reached stays the same. */
const means = new WeakMap<
  Float32Array,
  { heads: string; mean: Float32Array; of: Uint8Array; received: Float32Array }
>();

/** What each key receives: of the queries that are reached, the mean. */
function received(map: LayerMap, tokens: number, chosen: readonly number[] | null, above: Uint8Array): Float32Array {
  const heads = map.heads > 1 && chosen ? chosen : Array.from({ length: map.heads }, (_, head) => head);
  let known = means.get(map.share);
  if (known?.heads !== heads.join()) {
    known = {
      heads: heads.join(),
      mean: meanOver(map, tokens, heads),
      of: new Uint8Array(),
      received: new Float32Array(),
    };
    means.set(map.share, known);
  }
  const { of } = known;
  if (of.length !== tokens || above.some((isReached, token) => isReached !== of[token])) {
    known.of = above;
    known.received = meanOf(known.mean, above);
  }
  return known.received;
}

/** Of some rows. */
function meanOf(mean: Float32Array, above: Uint8Array): Float32Array {
  const tokens = above.length;
  const sums = new Float32Array(tokens);
  let rows = 0;
  for (let query = 0; query < tokens; query++) {
    if (!above[query]) continue;
    rows++;
    const row = query * tokens;
    for (let key = 0; key < tokens; key++) sums[key]! += mean[row + key]!;
  }
  return rows > 0 ? sums.map((sum) => sum / rows) : sums;
}

/** A layer's map as the mean over some heads, by query · tokens + key. */
function meanOver(map: LayerMap, tokens: number, heads: readonly number[]): Float32Array {
  const mean = new Float32Array(tokens * tokens);
  // A logit's map has one row.
  const rows = map.key.length / (map.heads * map.kept);
  for (const head of heads) {
    for (let query = 0; query < rows; query++) {
      const from = (head * tokens + query) * map.kept;
      for (let place = from; place < from + map.kept; place++) {
        mean[query * tokens + map.key[place]!]! += map.share[place]! / heads.length;
      }
    }
  }
  return mean;
}

function shares(values: ArrayLike<number>): Float32Array {
  let sum = 0;
  for (let place = 0; place < values.length; place++) sum += values[place]!;
  const found = new Float32Array(values.length);
  for (let place = 0; place < values.length; place++) found[place] = values[place]! / (sum || 1);
  return found;
}

/** One model's graph by groups of tokens: what a drawing shows. */
export interface Drawn {
  reached: Uint8Array[];
  share: Float32Array[];
  /** By head · groups + group. */
  strength: Float32Array[];
  received: Float32Array[];
}

/** One or two graphs over the same groups and layers. */
export interface Picture {
  groups: readonly Group[];
  /** Which group each token is in. */
  of: Uint16Array;
  layers: readonly number[];
  heads: readonly number[];
  a: Drawn | null;
  b: Drawn | null;
  /** The largest of what is drawn, which the scales end at. */
  most: { share: number; strength: number; received: number; difference: number };
}

export function picture(groups: readonly Group[], a: Side | null, b: Side | null, most: number): Picture {
  const known = (a ?? b)!;
  const of = groupOf(groups, known.tokens.labels.length);
  const drawn = [a, b].map((one) => one && grouped(one, of, groups.length));
  const largest = (of: (one: Drawn) => Float32Array[]) =>
    Math.max(
      1e-6,
      ...drawn.flatMap((one) => (one ? of(one).map((values) => values.reduce((x, y) => Math.max(x, y), 0)) : [])),
    );
  return {
    groups,
    of,
    layers: known.layers,
    heads: known.heads.map((count, layer) => Math.max(count, b?.heads[layer] ?? 0, a?.heads[layer] ?? 0)),
    a: drawn[0] ?? null,
    b: drawn[1] ?? null,
    most: {
      share: largest((one) => one.share),
      strength: most,
      received: largest((one) => one.received),
      difference: largestDifference(drawn[0] ?? null, drawn[1] ?? null),
    },
  };
}

function largestDifference(a: Drawn | null, b: Drawn | null): number {
  let most = 1e-6;
  for (const [layer, strengths] of (a && b ? a.strength : []).entries()) {
    for (const [place, value] of strengths.entries())
      most = Math.max(most, Math.abs((b!.strength[layer]![place] ?? 0) - value));
  }
  return most;
}

function grouped(one: Side, of: Uint16Array, groups: number): Drawn {
  const tokens = of.length;
  return {
    reached: one.found.reached.slice(0, -1).map((level) => folded(level, Uint8Array, Math.max)),
    share: one.share.map((level) => folded(level, Float32Array, (x, y) => x + y)),
    received: one.received.map((level) => folded(level, Float32Array, (x, y) => x + y)),
    strength: one.strength.map((level, layer) => {
      const found = new Float32Array(one.heads[layer]! * groups);
      for (let head = 0; head < one.heads[layer]!; head++) {
        for (let token = 0; token < tokens; token++) {
          const place = head * groups + of[token]!;
          const value = level[head * tokens + token]!;
          if (value > found[place]!) found[place] = value;
        }
      }
      return found;
    }),
  };

  function folded<N extends Uint8Array | Float32Array>(
    level: N,
    Kind: new (size: number) => N,
    join: (x: number, y: number) => number,
  ): N {
    const found = new Kind(groups);
    for (let token = 0; token < tokens; token++) found[of[token]!] = join(found[of[token]!]!, level[token]!);
    return found;
  }
}

/** In which of the two graphs something is: 0 in none, 1 in A, 2 in B, 3 in both. */
export type Where = 0 | 1 | 2 | 3;

export function where(picture: Picture, level: number, group: number): Where {
  return ((picture.a?.reached[level]?.[group] ? 1 : 0) + (picture.b?.reached[level]?.[group] ? 2 : 0)) as Where;
}
