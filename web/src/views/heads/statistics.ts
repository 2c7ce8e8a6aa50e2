/** What the matrix of heads can show: one number for each layer and head, by weight and by norm. */

import { floats, type Parcel } from "../../api/parcel";
import type { Change, Heads } from "../../api/types";

export type How = "weight" | "norm";
export const HOWS: readonly How[] = ["weight", "norm"];
/** As a caption names them. */
export const HOW_TITLES: Record<How, string> = { weight: "by weight α", norm: "by norm ‖αf(x)‖" };

export interface Statistic {
  /** As the address has it. */
  name: string;
  title: string;
  /** For a row of a small table. */
  short: string;
  group: "Kinds of words" | "Neighbours" | "Shape" | "Two models";
  unit: "share" | "nats";
  /** What it says, and the formula. */
  note: string;
  formula: string;
  /** Whether weight and norm each have a number; one that compares the two has not. */
  split: boolean;
  /** Of one model, or between the two. */
  between: boolean;
}

export const DIVERGENCE = "divergence";
const DISAGREEMENT = "disagreement";
/** Neighbours, as a sentence has them. */
export const SAID: Record<string, string> = {
  self: "the token itself",
  previous: "the previous token",
  next: "the next token",
};

/** All that can be shown of these heads. */
export function statistics({ categories, offsets }: Heads, two: boolean): Statistic[] {
  const kinds = categories.map(
    (category): Statistic => ({
      name: `mass-${slug(category)}`,
      title: `Share of ${category === "other" ? "other words" : category}`,
      short: category === "other" ? "other words" : category.replace(" and ", ", "),
      group: "Kinds of words",
      unit: "share",
      note: `The share of what a head takes in that comes from ${category === "other" ? "all other words" : category}, mean over the tokens that look.`,
      formula: "1/T Σᵢ Σ_{j ∈ kind} pᵢⱼ,  p = α, or ‖αf(x)‖, as shares of each row",
      split: true,
      between: false,
    }),
  );
  const neighbours = offsets.map(
    (offset): Statistic => ({
      name: offset,
      title: `Share of ${SAID[offset] ?? offset}`,
      short: offset,
      group: "Neighbours",
      unit: "share",
      note: `The share that a head takes from ${SAID[offset] ?? offset}: a habit of position, whatever the words are.`,
      formula: `mean over i of p_{i, ${({ self: "i", previous: "i−1", next: "i+1" } as Record<string, string>)[offset] ?? "i"}}`,
      split: true,
      between: false,
    }),
  );
  return [
    ...kinds,
    ...neighbours,
    {
      name: "entropy",
      title: "Entropy",
      short: "entropy",
      group: "Shape",
      unit: "nats",
      note: "How widely a head looks: 0 where each token looks at one other alone, ln T where it looks at all alike.",
      formula: "H = −1/T Σᵢ Σⱼ pᵢⱼ ln pᵢⱼ",
      split: true,
      between: false,
    },
    {
      name: DISAGREEMENT,
      title: "Weight against norm",
      short: "α against ‖αf‖",
      group: "Shape",
      unit: "nats",
      note: "How far a head’s weights and what it really takes lie apart: where it is large, the weights alone mislead.",
      formula: "½ KL(p ‖ m) + ½ KL(q ‖ m),  p = α, q = ‖αf(x)‖ as shares, m = (p + q)/2",
      split: false,
      between: false,
    },
    ...(two
      ? [
          {
            name: DIVERGENCE,
            title: "A against B",
            short: "A against B",
            group: "Two models",
            unit: "nats",
            note: "How far the rows of the two models lie apart: 0 where nothing changed, at most ln 2 = 0.69.",
            formula: "½ KL(p ‖ m) + ½ KL(q ‖ m),  p of model A, q of model B, m = (p + q)/2",
            split: true,
            between: true,
          } satisfies Statistic,
        ]
      : []),
  ];
}

export function slug(name: string): string {
  return (
    name
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, "-")
      .replace(/^-|-$/g, "") || "kind"
  );
}

/** The numbers of one model, (layer, head). */
export function valuesOf(parcel: Parcel<Heads>, statistic: Statistic, how: How): Float32Array {
  const { categories, offsets, layers, heads } = parcel.artifact;
  if (statistic.name === "entropy") return floats(parcel, `entropy_${how}`);
  if (statistic.name === DISAGREEMENT) return floats(parcel, "disagreement");
  const offset = offsets.indexOf(statistic.name);
  const [values, place, count] =
    offset >= 0
      ? [floats(parcel, `offset_${how}`), offset, offsets.length]
      : [
          floats(parcel, `mass_${how}`),
          categories.findIndex((category) => `mass-${slug(category)}` === statistic.name),
          categories.length,
        ];
  return Float32Array.from({ length: layers.length * heads.length }, (_, head) => values[head * count + place]!);
}

/** How far the models lie apart, (layer, head). */
export function divergenceOf(parcel: Parcel<Change>): Float32Array {
  return floats(parcel, "jensen_shannon");
}

/** The heads that have a role, by role, in the order in which roles first appear; those without are left out. */
export function rolesOf({ roles, layers, heads }: Heads): [string, [number, number][]][] {
  const found = new Map<string, [number, number][]>();
  roles.forEach((row, layer) => {
    row.forEach((role, head) => {
      if (role === "mixed") return;
      found.set(role, [...(found.get(role) ?? []), [layers[layer]!, heads[head]!]]);
    });
  });
  return [...found];
}

export function roleAt({ roles, layers, heads }: Heads, layer: number, head: number): string | null {
  const role = roles[layers.indexOf(layer)]?.[heads.indexOf(head)];
  return role === undefined || role === "mixed" ? null : role;
}
