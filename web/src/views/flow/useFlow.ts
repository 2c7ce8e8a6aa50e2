/** Everything the Flow view draws, from what is chosen: the maps of both models, traced here. */

import { useMemo, useRef } from "react";
import type { Parcel } from "../../api/parcel";
import { type Asked, type Questions, together, useParcel } from "../../api/queries";
import type { Maps, Slot, Words } from "../../api/types";
import { type Paths, pathsOf } from "../../methods/tracing";
import { useStore } from "../../state/store";
import type { Subject } from "../../state/subject";
import type { Choices } from "../../state/url";
import { type Picture, picture, type Side, side, strongestShare } from "./graph";
import { type Group, groupsOf, ROOM, unmarked } from "./groups";
import { defaultThreshold, LOGIT } from "./options";

export interface Flow {
  a: Side | null;
  b: Side | null;
  /** The graph whose tokens are shown: A's, or B's where that is shown alone. */
  main: Side;
  groups: readonly Group[];
  picture: Picture;
  show: Choices["show"];
  threshold: number;
  maps: Maps;
  /** The reconstruction error of what is shown of each model. */
  errors: Partial<Record<Slot, number>>;
  histogram: { edges: Float32Array; counts: ArrayLike<number> };
  /** What the target is called. */
  target: string;
  /** The selected word's token; null if none is, or it is not in this text. */
  selected: number | null;
  /** The tokens drawn together with it. */
  from: readonly number[] | null;
  paths: ReadonlyMap<Side, Paths> | null;
  /** Why a model is not shown, or not as asked. */
  remark: string | null;
  stale: boolean;
}

export interface FlowState {
  flow: Flow | null;
  asked: Questions;
  error: Error | null;
}

export function useFlow(subject: Subject, zoom: number): FlowState {
  const { measure, reading } = subject;
  const chosenShow = useStore((state) => state.show);
  // An address may ask for B alone where there is none, or none with this measure.
  const show = chosenShow === "b" && !(subject.models.b && measure.available.b) ? "both" : chosenShow;
  const chosenTarget = useStore((state) => state.target);
  const chosenThreshold = useStore((state) => state.threshold);
  const layers = useStore((state) => state.layers);
  const heads = useStore((state) => state.heads);
  const word = useStore((state) => state.word);

  const mapsA = useMaps(subject, "a");
  const mapsB = useMaps(subject, "b");
  const logit = chosenTarget?.startsWith(LOGIT) ? chosenTarget.slice(LOGIT.length) : null;
  const wordsA = useLast(subject, "a", logit);
  const wordsB = useLast(subject, "b", logit);
  const isWaiting = [mapsA, mapsB, wordsA, wordsB].some(({ stale, working, data }) => stale || (working && !data));
  // Two models are drawn over each other only when both have read the same text.
  const {
    a: parcelA,
    b: parcelB,
    lastA,
    lastB,
  } = useLatest({ a: mapsA.data, b: mapsB.data, lastA: last(wordsA), lastB: last(wordsB) }, !isWaiting);
  const threshold = useMemo(() => {
    const shown = [show === "b" ? undefined : parcelA, show === "a" ? undefined : parcelB].filter(
      (one) => one !== undefined,
    );
    const most = Math.min(1, ...shown.map((parcel) => strongestShare(parcel, targetOf(parcel, chosenTarget))));
    return chosenThreshold ?? defaultThreshold(measure.per_head, reading, most);
  }, [parcelA, parcelB, show, chosenTarget, chosenThreshold, measure.per_head, reading]);

  const sides = useMemo(() => {
    const wanted = { a: show !== "b" ? parcelA : undefined, b: show !== "a" ? parcelB : undefined };
    if (!wanted.a && !wanted.b) return null;
    const one = (parcel: typeof parcelA, last: Float32Array | null) =>
      parcel ? side(parcel, { threshold, layers, heads, target: targetOf(parcel, chosenTarget), last }) : null;
    const a = one(wanted.a, lastA);
    const b = one(wanted.b, lastB);
    const alike = !a || !b || isComparable(a, b);
    return { a, b: alike ? b : null, alike };
  }, [parcelA, parcelB, lastA, lastB, show, chosenTarget, threshold, layers, heads]);

  const predicted = (sides?.a ? wordsA : wordsB).data?.artifact.target ?? null;
  const main = sides?.a ?? sides?.b ?? null;
  const tokens = main?.tokens;
  const groups = useMemo(() => (tokens ? groupsOf(tokens, Math.round(ROOM * zoom)) : []), [tokens, zoom]);
  const known = (sides?.a ? parcelA : parcelB) ?? parcelA;
  const flow = useMemo((): Flow | null => {
    if (!sides || !main || !known) return null;
    const edges = known.arrays.histogram_edge?.data as Float32Array;
    const counts = known.arrays.histogram_count?.data as ArrayLike<number>;
    const most = edges[edges.length - 1] || 1;
    const place = word === null ? -1 : main.tokens.labels.indexOf(word);
    const shown = picture(groups, sides.a, sides.b, most);
    const chosen = place >= 0 ? groups[shown.of[place]!]! : null;
    const from = chosen ? Array.from({ length: chosen.end - chosen.first }, (_, token) => chosen.first + token) : [];
    const paths =
      chosen && new Map([sides.a, sides.b].filter((one) => one !== null).map((one) => [one, pathsOf(one.found, from)]));
    return {
      a: sides.a,
      b: sides.b,
      main,
      groups,
      picture: shown,
      show: sides.a && sides.b ? show : "both",
      threshold,
      maps: known.artifact,
      errors: {
        ...(sides.a && parcelA && { a: parcelA.artifact.reconstruction_error }),
        ...(sides.b && parcelB && { b: parcelB.artifact.reconstruction_error }),
      },
      histogram: { edges, counts },
      target: targetName([sides.a, sides.b], logit || predicted),
      selected: place >= 0 ? place : null,
      from: chosen ? from : null,
      paths,
      remark: sides.alike
        ? missing(subject, sides, logit)
        : "The models don’t have the same layers and words, so B can’t be laid over A. Choose B to see it alone.",
      stale: isWaiting,
    };
  }, [sides, main, known, parcelA, parcelB, groups, word, show, threshold, logit, predicted, subject, isWaiting]);
  return {
    flow,
    asked: together(mapsA, mapsB, wordsA, wordsB),
    error: (show === "b" ? null : mapsA.error) ?? (show === "a" ? null : mapsB.error),
  };
}

/** The token that is meant; what the model decides from, if that is not in this text. */
function targetOf({ artifact }: Parcel<Maps>, label: string | null): number {
  const found = label === null ? -1 : artifact.tokens.labels.indexOf(label);
  return found >= 0 ? found : artifact.default_target;
}

function useMaps(subject: Subject, slot: Slot): Asked<Maps> {
  const { text, pair, unit, reading, measure, models } = subject;
  const isThere = models[slot] !== null && measure.available[slot];
  return useParcel<Maps>("maps", isThere ? { slot, text, pair, measure: measure.name, reading, unit } : null);
}

/** What the states that enter the last layer contribute to a logit, in a model that has it. */
function useLast(subject: Subject, slot: Slot, logit: string | null): Asked<Words> {
  const { text, pair, unit, models } = subject;
  const isThere = logit !== null && models[slot]?.has_logits;
  return useParcel<Words>("words", isThere ? { slot, text, pair, unit, target: logit || null } : null);
}

function last({ data }: Asked<Words>): Float32Array | null {
  return (data?.arrays.last?.data as Float32Array | undefined) ?? null;
}

/** A value as it last was when it was ready; before that, as it is. */
function useLatest<T>(value: T, isReady: boolean): T {
  const held = useRef(value);
  const wasReady = useRef(false);
  if (isReady || !wasReady.current) {
    held.current = value;
    wasReady.current ||= isReady;
  }
  return held.current;
}

function isComparable(a: Side, b: Side): boolean {
  return a.tokens.labels.length === b.tokens.labels.length && a.layers.join() === b.layers.join();
}

/** One name, or two where the models are not traced from the same. */
function targetName(sides: readonly (Side | null)[], logit: string | null): string {
  const names = sides.flatMap((one) => {
    if (!one) return [];
    return [one.start === null ? unmarked(logit || "answer") : (one.tokens.labels[one.start] ?? "")];
  });
  return [...new Set(names)].join(" / ");
}

function missing(subject: Subject, { a, b }: { a: Side | null; b: Side | null }, logit: string | null): string | null {
  if (subject.models.b && !subject.measure.available.b)
    return `B has no ${subject.measure.title}: ${subject.measure.available.reason}`;
  if (logit === null) return null;
  const without = [a && a.start !== null && "A", b && b.start !== null && "B"].filter((name) => name);
  if (without.length === 0) return null;
  const token = (a?.start != null ? a : b)!;
  return `${without.join(" and ")} can’t be traced from a class here, and ${without.length > 1 ? "are" : "is"} traced from ${token.tokens.labels[token.start ?? 0]}.`;
}
