/** Which heat maps an open head has: α beside ‖αf(x)‖, A over B, and how the two differ. */

import { floats, type Parcel } from "../../api/parcel";
import type { Head, Slot, TokenList } from "../../api/types";
import { sameTokens } from "../../parts/tokens";
import type { Choices } from "../../state/url";
import { largest } from "./heatmap";
import type { Scale } from "./panels";
import { HOWS, type How } from "./statistics";

export interface HeatMap {
  key: string;
  scale: Scale;
  how: How;
  values: Float32Array;
  low: number;
  high: number;
}

export interface HeatMaps {
  queries: TokenList;
  keys: TokenList;
  rows: readonly (readonly HeatMap[])[];
  /** Why there is no difference, where one was asked for. */
  problem: string | null;
}

export function mapsOf(heads: Partial<Record<Slot, Parcel<Head>>>, show: Choices["show"]): HeatMaps | null {
  const first = heads.a ?? heads.b;
  if (!first) return null;
  const slots = (["a", "b"] as const).filter(
    (slot) => heads[slot] && (show === "both" || show === "diff" || show === slot || !heads[show]),
  );
  const same = heads.a && heads.b ? sameTokens(heads.a.artifact.tokens, heads.b.artifact.tokens) : true;
  const most = Object.fromEntries(
    HOWS.map((how) => [how, largest(slots.map((slot) => floats(heads[slot]!, how)))]),
  ) as Record<How, number>;
  const rows = slots
    .filter((slot) => slot === slots[0] || same)
    .map((slot) =>
      HOWS.map(
        (how): HeatMap => ({
          key: `${slot}-${how}`,
          scale: slot,
          how,
          values: floats(heads[slot]!, how),
          low: 0,
          high: most[how],
        }),
      ),
    );
  const apart = show !== "a" && show !== "b" && heads.a && heads.b && same;
  if (apart) {
    rows.push(
      HOWS.map((how): HeatMap => {
        const [before, after] = [floats(heads.a!, how), floats(heads.b!, how)];
        const values = after.map((value, place) => value - before[place]!);
        const furthest = largest([values]);
        return { key: `difference-${how}`, scale: "difference", how, values, low: -furthest, high: furthest };
      }),
    );
  }
  return {
    queries: first.artifact.tokens,
    keys: first.artifact.keys,
    rows: show === "diff" && apart ? rows.slice(-1) : rows,
    problem:
      heads.a && heads.b && !same && show !== "a" && show !== "b"
        ? "The models cut this text differently, so B is not laid beside A; choose B to see it alone."
        : null,
  };
}
