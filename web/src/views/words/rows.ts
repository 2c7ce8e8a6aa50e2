/** A row for each word: what it adds to the decision, and what attention it gets, in each model. */

import { floats, type Parcel } from "../../api/parcel";
import type { Slot, Words } from "../../api/types";
import { briefly } from "../../parts/caption";
import { sameTokens } from "../../parts/tokens";
import type { Choices } from "../../state/url";
import { plain, unmarked } from "../flow/groups";

export type Column = "contribution" | "weight" | "norm";
export const COLUMNS: readonly Column[] = ["contribution", "weight", "norm"];
export type Series = Slot | "diff";

export interface Row {
  /** Of the token list: all different. */
  label: string;
  /** As it is read. */
  name: string;
  special: boolean;
  /** Whether a blank stands before it. */
  starts: boolean;
  place: number;
  values: Record<Column, Partial<Record<Series, number>>>;
}

export interface Decision {
  slot: Slot;
  target: string;
  value: number;
  bias: number | null;
  /** Of all words together. */
  sum: number;
  error: number | null;
  probability: number | null;
}

export interface Rows {
  rows: readonly Row[];
  /** Which series there are in each column. */
  series: Record<Column, readonly Series[]>;
  decisions: readonly Decision[];
  /** From where to where each column reaches; 0 is always in it. */
  reach: Record<Column, readonly [number, number]>;
  signed: boolean;
  /** From which token `last` looks. */
  deciding: string;
  /** What can't be shown, and why. */
  notes: readonly string[];
}

interface Given {
  words: Partial<Record<Slot, Parcel<Words>>>;
  show: Choices["show"];
  received: Choices["received"];
  order: Choices["order"];
}

export function rowsOf({ words, show, received, order }: Given): Rows | null {
  const there = (["a", "b"] as const).filter((slot) => words[slot]);
  if (!there.length) return null;
  const notes: string[] = [];
  let slots = there.filter((slot) => show === "both" || show === "diff" || show === slot);
  if (!slots.length) slots = there.slice(0, 1);
  const [one, other] = slots.map((slot) => words[slot]!.artifact);
  if (one && other && !sameTokens(one.tokens, other.tokens)) {
    notes.push(
      "The models cut this text differently, so they are not laid beside each other; choose A to see A alone.",
    );
    slots = slots.slice(1);
  }
  const first = words[slots[0]!]!.artifact;
  const columns = Object.fromEntries(slots.map((slot) => [slot, columnsOf(words[slot]!, received)])) as Record<
    Slot,
    Partial<Record<Column, Float32Array>>
  >;
  const series = Object.fromEntries(
    COLUMNS.map((column) => {
      const having = slots.filter((slot) => columns[slot][column]);
      return [column, show === "diff" && slots.length === 2 ? (having.length === 2 ? ["diff"] : []) : having];
    }),
  ) as unknown as Record<Column, Series[]>;
  for (const slot of slots) {
    const { model, reason } = words[slot]!.artifact;
    if (reason) notes.push(`${slot.toUpperCase()}: ${reason.replace(model, briefly(model))}; it has attention alone.`);
  }
  const rows = first.tokens.labels.map((label, place): Row => {
    const values = Object.fromEntries(
      COLUMNS.map((column) => [
        column,
        Object.fromEntries(
          series[column].map((name) => [
            name,
            name === "diff" ? columns.b[column]![place]! - columns.a[column]![place]! : columns[name][column]![place]!,
          ]),
        ),
      ]),
    ) as Row["values"];
    return {
      label,
      name: plain(label),
      special: first.tokens.special[place]!,
      starts: first.tokens.starts_word[place]!,
      place,
      values,
    };
  });
  const by = series.contribution.length ? "contribution" : "norm";
  const size = (row: Row) => Math.max(...Object.values(row.values[by]).map(Math.abs));
  const decisions = slots.flatMap((slot) => decisionOf(slot, words[slot]!));
  return {
    rows: order === "size" ? rows.toSorted((a, b) => size(b) - size(a)) : rows,
    series,
    decisions,
    reach: reachOf(rows, series.contribution.includes("diff") ? [] : decisions),
    signed: first.signed,
    deciding: first.tokens.labels[first.query]!,
    notes,
  };
}

function columnsOf(parcel: Parcel<Words>, received: Choices["received"]): Partial<Record<Column, Float32Array>> {
  const found = received === "all" ? ["layer_weight", "layer_norm"] : ["weight", "norm"];
  const [weight, norm] = found.map((name) =>
    meanOverLayers(floats(parcel, name), parcel.artifact.tokens.labels.length),
  );
  return {
    weight: weight!,
    norm: norm!,
    ...(parcel.artifact.target !== null && { contribution: floats(parcel, "contribution") }),
  };
}

/** Of (layer, token), or of one row alone. */
function meanOverLayers(values: Float32Array, tokens: number): Float32Array {
  const layers = values.length / tokens;
  return Float32Array.from({ length: tokens }, (_, token) => {
    let sum = 0;
    for (let layer = 0; layer < layers; layer++) sum += values[layer * tokens + token]!;
    return sum / layers;
  });
}

function decisionOf(slot: Slot, parcel: Parcel<Words>): Decision[] {
  const { target, target_value: value, bias, completeness_error: error, probability } = parcel.artifact;
  if (target === null || value === null) return [];
  const sum = floats(parcel, "contribution").reduce((total, one) => total + one, 0);
  return [{ slot, target: unmarked(target), value, bias, sum, error, probability }];
}

function reachOf(rows: readonly Row[], decisions: readonly Decision[]): Rows["reach"] {
  const found = { contribution: [0, 0], weight: [0, 0], norm: [0, 0] } as Record<Column, [number, number]>;
  const include = (column: Column, value: number) => {
    found[column][0] = Math.min(found[column][0], value);
    found[column][1] = Math.max(found[column][1], value);
  };
  for (const { values } of rows) {
    for (const column of COLUMNS) for (const value of Object.values(values[column])) include(column, value);
  }
  for (const { bias } of decisions) include("contribution", bias ?? 0);
  // Weight and norm are shares of the same whole: on one scale they can be compared.
  const low = Math.min(found.weight[0], found.norm[0]);
  const high = Math.max(found.weight[1], found.norm[1]);
  return { contribution: found.contribution, weight: [low, high], norm: [low, high] };
}

/** A word's share of what is received, by layer: (layer). */
export function profileOf(parcel: Parcel<Words>, how: "weight" | "norm", place: number): Float32Array {
  const values = floats(parcel, `layer_${how}`);
  const tokens = parcel.artifact.tokens.labels.length;
  return Float32Array.from({ length: values.length / tokens }, (_, layer) => values[layer * tokens + place]!);
}
