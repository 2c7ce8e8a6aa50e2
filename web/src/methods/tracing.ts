/**
 * Tracing back: which tokens of which layers a target draws on. The same as attnscope/methods/tracing.py, in the
 * browser, so that a threshold can be dragged; fixtures written by Python hold the two together.
 *
 * E_l = {(u, v) : max over heads of M^l[u, v] ≥ τ}. From S_L = {target}, S_{l−1} = {v : ∃ u ∈ S_l with (u, v) ∈ E_l}.
 * c_l(v) counts the pairs (head, u ∈ S_l) with M ≥ τ; the influence is I_l(v) = c_l(v) + λ Σ_u I_{l+1}(u) over the u
 * that draw on v, and nothing lies above the target.
 */

/** One layer's map, the strongest keys of each query first: share[(head · queries + query) · kept + rank]. */
export interface LayerMap {
  heads: number;
  kept: number;
  key: Uint16Array;
  share: Float32Array;
}

export interface TraceOptions {
  threshold: number;
  /** λ: how much of a query's influence its keys inherit. */
  decay?: number;
  /** Keep only so many keys of each query, the strongest. */
  top?: number | null;
  /** Which heads count, from 0; null for all. A layer of one map for all heads together ignores it. */
  heads?: readonly number[] | null;
}

/** Of one layer: who draws on whom, and by which heads. */
export interface LayerEdges {
  query: Uint16Array;
  key: Uint16Array;
  /** The largest share over the heads that were chosen. */
  strength: Float32Array;
  /** For each passing (head, edge): its head, edge and share. */
  passHead: Uint16Array;
  passEdge: Uint32Array;
  passShare: Float32Array;
}

export interface Trace {
  /** Level by level from the words (0) to the target: 1 where a token is reached. */
  reached: Uint8Array[];
  /** 0 at the top level. */
  influence: Float64Array[];
  /** Layer by layer from the first. */
  edges: LayerEdges[];
}

const DECAY = 0.5;

export function trace(
  maps: readonly LayerMap[],
  tokens: number,
  start: readonly number[],
  options: TraceOptions,
): Trace {
  const top = new Uint8Array(tokens);
  for (const place of start) top[place] = 1;
  const reached = [top];
  const influence = [new Float64Array(tokens)];
  const edges: LayerEdges[] = [];
  for (let layer = maps.length - 1; layer >= 0; layer--) {
    const above = reached[reached.length - 1]!;
    const handed = influence[influence.length - 1]!;
    const found = layerEdges(maps[layer]!, tokens, above, options);
    const active = new Uint8Array(tokens);
    const own = new Float64Array(tokens);
    for (let edge = 0; edge < found.query.length; edge++) {
      const key = found.key[edge]!;
      active[key] = 1;
      own[key]! += (options.decay ?? DECAY) * handed[found.query[edge]!]!;
    }
    for (let pass = 0; pass < found.passEdge.length; pass++) own[found.key[found.passEdge[pass]!]!]! += 1;
    reached.push(active);
    influence.push(own);
    edges.push(found);
  }
  return { reached: reached.reverse(), influence: influence.reverse(), edges: edges.reverse() };
}

/** Room to gather a layer's edges in, kept from one to the next: this is done at every move of a slider. */
const room = {
  query: new Uint16Array(0),
  key: new Uint16Array(0),
  strength: new Float32Array(0),
  passHead: new Uint16Array(0),
  passEdge: new Uint32Array(0),
  passShare: new Float32Array(0),
};

function makeRoom(most: number): void {
  if (room.query.length >= most) return;
  room.query = new Uint16Array(most);
  room.key = new Uint16Array(most);
  room.strength = new Float32Array(most);
  room.passHead = new Uint16Array(most);
  room.passEdge = new Uint32Array(most);
  room.passShare = new Float32Array(most);
}

function layerEdges(map: LayerMap, tokens: number, above: Uint8Array, options: TraceOptions): LayerEdges {
  const { threshold } = options;
  const heads = map.heads > 1 && options.heads ? options.heads.filter((head) => head < map.heads) : range(map.heads);
  makeRoom(map.key.length);
  const { query, key, strength, passHead, passEdge, passShare } = room;
  const edgeOf = new Int32Array(tokens).fill(-1);
  let edges = 0;
  let passes = 0;
  for (let row = 0; row < tokens; row++) {
    if (!above[row]) continue;
    const first = edges;
    const kept = options.top == null ? null : strongest(map, tokens, heads, row, options.top);
    for (const head of heads) {
      const from = (head * tokens + row) * map.kept;
      for (let place = from; place < from + map.kept; place++) {
        const share = map.share[place]!;
        if (share < threshold) break;
        const column = map.key[place]!;
        if (kept && !kept.has(column)) continue;
        let edge = edgeOf[column]!;
        if (edge < 0) {
          edge = edges++;
          edgeOf[column] = edge;
          query[edge] = row;
          key[edge] = column;
          strength[edge] = share;
        } else if (share > strength[edge]!) strength[edge] = share;
        passHead[passes] = head;
        passEdge[passes] = edge;
        passShare[passes++] = share;
      }
    }
    for (let edge = first; edge < edges; edge++) edgeOf[key[edge]!] = -1;
  }
  return {
    query: query.slice(0, edges),
    key: key.slice(0, edges),
    strength: strength.slice(0, edges),
    passHead: passHead.slice(0, passes),
    passEdge: passEdge.slice(0, passes),
    passShare: passShare.slice(0, passes),
  };
}

/** The keys with the largest shares over the heads; of equal ones, the first. */
function strongest(map: LayerMap, tokens: number, heads: readonly number[], row: number, count: number): Set<number> {
  const largest = new Float32Array(tokens);
  for (const head of heads) {
    const from = (head * tokens + row) * map.kept;
    for (let place = from; place < from + map.kept; place++) {
      const column = map.key[place]!;
      if (map.share[place]! > largest[column]!) largest[column] = map.share[place]!;
    }
  }
  const order = range(tokens).sort((a, b) => largest[b]! - largest[a]! || a - b);
  return new Set(order.slice(0, count));
}

/** Which (level, token) lie on a path from a token up to the target, and which edges make it up. */
export interface Paths {
  nodes: Uint8Array[];
  edges: Uint8Array[];
}

/** Everything that the content of some tokens passes through on its way up, from each level where they are reached. */
export function pathsOf(found: Trace, from: readonly number[]): Paths {
  const tokens = found.reached[0]?.length ?? 0;
  const nodes = found.reached.map(() => new Uint8Array(tokens));
  const edges = found.edges.map((layer) => new Uint8Array(layer.query.length));
  for (const [level, reached] of found.reached.entries()) {
    const here = nodes[level]!;
    for (const token of from) if (reached[token]) here[token] = 1;
    const layer = found.edges[level];
    if (!layer) continue;
    for (let edge = 0; edge < layer.query.length; edge++) {
      if (!here[layer.key[edge]!]) continue;
      edges[level]![edge] = 1;
      nodes[level + 1]![layer.query[edge]!] = 1;
    }
  }
  return { nodes, edges };
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number);
}
