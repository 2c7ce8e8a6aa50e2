/** What a search found, as rows that can be read. */

import { array, floats, type Parcel } from "../../api/parcel";
import type { Search } from "../../api/types";

export interface Hit {
  /** Its place among the texts that have hits. */
  text: number;
  /** Counted from 1. */
  layer: number;
  /** Counted from 1; null where all heads are together. */
  head: number | null;
  query: string;
  key: string;
  queryPlace: number;
  keyPlace: number;
  share: number;
}

export function hitsOf(parcel: Parcel<Search>): Hit[] {
  const { layers, heads, texts } = parcel.artifact;
  const place = array(parcel, "place").data;
  const share = floats(parcel, "share");
  return Array.from(share, (value, row) => {
    const [text, layer, head, query, key] = place.subarray(row * 5, row * 5 + 5) as unknown as number[];
    const { labels } = texts[text!]!.tokens;
    return {
      text: text!,
      layer: layers[layer!]!,
      head: heads[head!] ?? null,
      query: labels[query!]!,
      key: labels[key!]!,
      queryPlace: query!,
      keyPlace: key!,
      share: value,
    };
  });
}

/** How many hits each head has: (layer, head), and the most of any. */
export function countsOf(parcel: Parcel<Search>): { values: Float32Array; most: number } {
  const values = Float32Array.from(array(parcel, "count").data);
  return { values, most: Math.max(...values, 1) };
}

/** The words around a place, with the place's own in the middle. */
export function around(labels: readonly string[], place: number, reach = 6): [string, string, string] {
  const cut = (from: number, to: number) => labels.slice(Math.max(0, from), to).join(" ");
  const before = cut(place - reach, place);
  const after = cut(place + 1, place + 1 + reach);
  return [
    place - reach > 0 ? `… ${before}` : before,
    labels[place]!,
    place + 1 + reach < labels.length ? `${after} …` : after,
  ];
}
