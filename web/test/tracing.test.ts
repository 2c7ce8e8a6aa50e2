import { describe, expect, it } from "vitest";
import { array, floats, type Parcel } from "../src/api/parcel";
import type { Maps, Words } from "../src/api/types";
import { type LayerMap, pathsOf, trace } from "../src/methods/tracing";
import { type Side, side } from "../src/views/flow/graph";
import { readJson, readParcel } from "./fixtures";

interface Options {
  threshold: number;
  layers?: number[];
  heads?: number[];
  target?: number | string;
  decay?: number;
  top?: number;
  by?: "share" | "value";
}

interface Flow {
  layers: number[];
  heads: number[];
  target: { kind: "token" | "logit"; token: number | null };
  nodes: { layer: number; token: number | null; influence: number; share: number }[];
  edges: { layer: number; query: number | null; key: number; heads: number[]; strength: number }[];
}

interface Case {
  maps: string;
  words?: string;
  options: Options;
  flow: Flow;
}

const CASES = readJson<Case[]>("tiny", "flows.json");

describe("what Python traces is traced here", () => {
  it.each(CASES.map((found) => [JSON.stringify({ maps: found.maps, ...found.options }), found] as const))(
    "%s",
    (_, found) => {
      const traced = traceAs(found);
      expect(nodesOf(traced)).toEqual(
        found.flow.nodes.map(({ layer, token, influence, share }) => ({
          layer,
          token,
          influence: round(influence),
          share: round(share),
        })),
      );
      expect(edgesOf(traced)).toEqual(
        found.flow.edges.map(({ strength, ...edge }) => ({ ...edge, strength: round(strength) })).sort(byPlace),
      );
    },
  );
});

function traceAs({ maps, words, options, flow }: Case): Side {
  const parcel = options.by === "value" ? asValues(readParcel<Maps>("tiny", maps)) : readParcel<Maps>("tiny", maps);
  const { layers, heads } = options;
  return side(parcel, {
    threshold: options.threshold,
    layers: layers ? [layers[0]!, layers.at(-1)!] : null,
    heads: heads ?? null,
    target: flow.target.token ?? 0,
    last: words ? floats(readParcel<Words>("tiny", words), "last") : null,
    ...(options.decay !== undefined && { decay: options.decay }),
    ...(options.top !== undefined && { top: options.top }),
  });
}

/** Values are shares of the row's sum. */
function asValues(parcel: Parcel<Maps>): Parcel<Maps> {
  const share = floats(parcel, "share");
  const total = floats(parcel, "total");
  const { kept } = parcel.artifact;
  const data = share.map((value, place) => value * total[Math.floor(place / kept)]!);
  return { ...parcel, arrays: { ...parcel.arrays, share: { ...array(parcel, "share"), data } } };
}

function nodesOf(traced: Side) {
  const { reached, influence } = traced.found;
  const first = traced.layers[0]!;
  const nodes = traced.share.flatMap((share, level) =>
    [...share.keys()]
      .filter((token) => reached[level]![token])
      .map((token) => ({
        layer: first - 1 + level,
        token,
        influence: round(influence[level]![token]!),
        share: round(share[token]!),
      })),
  );
  return [...nodes, { layer: traced.layers.at(-1)!, token: traced.start, influence: 0, share: 1 }];
}

function edgesOf(traced: Side) {
  return traced.found.edges.flatMap((edges, place) => {
    const isLogit = traced.start === null && place === traced.layers.length - 1;
    return [...edges.query.keys()]
      .map((edge) => {
        const heads = [...edges.passEdge.keys()]
          .filter((pass) => edges.passEdge[pass] === edge)
          .map((pass) => edges.passHead[pass]! + 1);
        return {
          layer: traced.layers[place]!,
          query: isLogit ? null : edges.query[edge]!,
          key: edges.key[edge]!,
          heads: traced.heads[place] === 1 ? [] : heads.sort((a, b) => a - b),
          strength: round(edges.strength[edge]!),
        };
      })
      .sort(byPlace);
  });
}

function byPlace(one: { layer: number; query: number | null; key: number }, other: typeof one): number {
  return one.layer - other.layer || (one.query ?? -1) - (other.query ?? -1) || one.key - other.key;
}

function round(value: number): number {
  return Number(value.toFixed(4));
}

/** Two layers of one head over three tokens; the rows are (0: 1, 0), (1: 2), (2: 0). */
const MAP: LayerMap = {
  heads: 1,
  kept: 2,
  key: Uint16Array.from([1, 0, 2, 0, 0, 1]),
  share: Float32Array.from([0.7, 0.3, 1, 0, 0.9, 0.1]),
};

describe("paths", () => {
  const found = trace([MAP, MAP], 3, [0], { threshold: 0.2 });

  it("go up from where a word is reached, to the target", () => {
    expect(found.reached.map((level) => [...level])).toEqual([
      [1, 1, 1],
      [1, 1, 0],
      [1, 0, 0],
    ]);
    const { nodes, edges } = pathsOf(found, [2]);
    expect(nodes.map((level) => [...level])).toEqual([
      [0, 0, 1],
      [0, 1, 0],
      [1, 0, 0],
    ]);
    expect(edges.map((layer) => layer.reduce((sum, lit) => sum + lit, 0))).toEqual([1, 1]);
  });

  it("lead nowhere from a word that is not reached", () => {
    const sparse = trace([MAP, MAP], 3, [0], { threshold: 0.5 });
    expect(pathsOf(sparse, [0]).edges.map((layer) => [...layer])).toEqual([[0], [0]]);
  });
});

describe("a higher threshold", () => {
  it("never adds an edge", () => {
    const parcel = readParcel<Maps>("demo", "maps-weight-b.parcel");
    const counts = [0.02, 0.05, 0.1, 0.2, 0.4, 0.8].map((threshold) => {
      const traced = side(parcel, { threshold, layers: null, heads: null, target: 0, last: null });
      return new Set(
        traced.found.edges.flatMap((edges, layer) =>
          [...edges.query.keys()].map((edge) => `${layer} ${edges.query[edge]} ${edges.key[edge]}`),
        ),
      );
    });
    for (const [place, edges] of counts.slice(1).entries()) {
      for (const edge of edges) expect(counts[place]!).toContain(edge);
    }
    expect(counts[0]!.size).toBeGreaterThan(counts[5]!.size);
  });
});
