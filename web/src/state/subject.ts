/** What is being looked at: the text, the models and the measure, as every view asks about them. */

import { useMemo } from "react";
import { kept } from "../api/kept";
import { useSession } from "../api/queries";
import type { MeasureInfo, ModelInfo, Session, Slot } from "../api/types";
import { useStore } from "./store";
import type { Choices } from "./url";

export interface Subject {
  session: Session;
  text: string;
  pair: string | null;
  /** The models there are: A, or A and B. */
  slots: readonly Slot[];
  models: { a: ModelInfo; b: ModelInfo | null };
  measure: MeasureInfo;
  /** How maps are read: as chosen, if the measure can be read so. */
  reading: Choices["reading"];
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
  const reading = useStore((state) => state.reading);
  return (
    useMemo(
      () => session && subjectOf(session, { text, pair, measure, reading, unit }),
      [session, text, pair, measure, reading, unit],
    ) ?? null
  );
}

type Chosen = Pick<Choices, "text" | "pair" | "measure" | "reading" | "unit">;

export function subjectOf(session: Session, chosen: Chosen): Subject {
  const { models, measures, demo } = session;
  const found = measures.find((one) => one.name === chosen.measure && obstacle(one, models) === null) ?? measures[0];
  if (!found) throw new Error("the server offers no measure at all");
  const { readings } = found;
  return {
    session,
    text: chosen.text ?? demo?.text ?? "",
    pair: chosen.text === null ? (chosen.pair ?? demo?.pair ?? null) : chosen.pair,
    slots: models.b ? ["a", "b"] : ["a"],
    models,
    measure: found,
    reading: readings.includes(chosen.reading) ? chosen.reading : (readings[0] ?? "direct"),
    unit: kept?.unit ?? (cutApart(models) ? "word" : chosen.unit),
  };
}

/** The same in units that the measure can be had in, for views that show the measure itself. */
export function measurable(subject: Subject): Subject {
  const { units } = subject.measure;
  return units.includes(subject.unit) ? subject : { ...subject, unit: units[0] ?? "token" };
}

/** Whether the models cut texts into different tokens, so that only words can be laid side by side. */
export function cutApart({ a, b }: Session["models"]): boolean {
  return b !== null && !a.words_shared;
}

/** Why a measure can't be chosen; null: it can. */
export function obstacle({ available, units, title }: MeasureInfo, models: Session["models"]): string | null {
  if (!available.a) return available.reason ?? `A has no ${title}`;
  return cutApart(models) && !units.includes("word")
    ? `the models cut texts differently, and ${title} is of tokens`
    : null;
}

/** A measure's name as a sentence can carry it. */
export function slotName(slot: Slot): string {
  return slot.toUpperCase();
}
