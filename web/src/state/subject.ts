/** What is being looked at: the text, the models and the measure, as every view asks about them. */

import { useMemo } from "react";
import { kept } from "../api/kept";
import { useSession } from "../api/queries";
import type { MeasureInfo, ModelInfo, Session, Slot } from "../api/types";
import { useStore } from "./store";

export interface Subject {
  session: Session;
  text: string;
  pair: string | null;
  /** The models there are: A, or A and B. */
  slots: readonly Slot[];
  models: { a: ModelInfo; b: ModelInfo | null };
  measure: MeasureInfo;
  /** Words where the models cut texts differently, as their tokens can't be laid side by side. */
  unit: "token" | "word";
}

/** null until the server has said what it has. */
export function useSubject(): Subject | null {
  const { data: session } = useSession();
  const text = useStore((state) => state.text);
  const pair = useStore((state) => state.pair);
  const measure = useStore((state) => state.measure);
  const unit = useStore((state) => state.unit);
  return (
    useMemo(() => session && subjectOf(session, { text, pair, measure, unit }), [session, text, pair, measure, unit]) ??
    null
  );
}

interface Chosen {
  text: string | null;
  pair: string | null;
  measure: string;
  unit: "token" | "word";
}

export function subjectOf(session: Session, chosen: Chosen): Subject {
  const { models, measures, demo } = session;
  const found = measures.find(({ name, available }) => name === chosen.measure && available.a) ?? measures[0];
  if (!found) throw new Error("the server offers no measure at all");
  const differ = models.b !== null && !models.a.words_shared;
  return {
    session,
    text: chosen.text ?? demo?.text ?? "",
    pair: chosen.text === null ? (chosen.pair ?? demo?.pair ?? null) : chosen.pair,
    slots: models.b ? ["a", "b"] : ["a"],
    models,
    measure: found,
    unit: kept?.unit ?? (differ ? "word" : chosen.unit),
  };
}

/** A measure's name as a sentence can carry it. */
export function slotName(slot: Slot): string {
  return slot.toUpperCase();
}
