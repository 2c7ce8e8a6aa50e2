import { kept } from "../api/kept";
import type { MeasureInfo } from "../api/types";
import { useStore } from "../state/store";
import { cutApart, type Subject } from "../state/subject";
import { LOGIT } from "../views/flow/options";
import { type Segment, Segmented } from "./Segmented";

const UNITS: readonly Segment<Subject["unit"]>[] = [
  { value: "token", label: "Tokens", title: "As the model cuts the text" },
  { value: "word", label: "Words", title: "Pieces of a word together" },
];

/** The units there are, of which `measure` may have one alone. */
export function units({ models }: Subject, measure?: MeasureInfo): readonly Segment<Subject["unit"]>[] {
  return UNITS.map((one) => {
    if (measure && !measure.units.includes(one.value))
      return { ...one, disabled: true, title: `${measure.title} is of tokens` };
    const apart = one.value === "token" && cutApart(models);
    return apart ? { ...one, disabled: true, title: "The models cut texts differently" } : one;
  });
}

/** What a text is counted in. A page with its answers inside holds one of the two. */
export function UnitChooser({ subject, measure }: { subject: Subject; measure?: MeasureInfo }) {
  const choose = useStore((state) => state.choose);
  const target = useStore((state) => state.target);
  if (kept) return null;
  return (
    <Segmented
      label="Unit"
      value={subject.unit}
      options={units(subject, measure)}
      // Labels are of tokens or of words; a class is called the same in both.
      onChange={(value) => choose({ unit: value, word: null, target: target?.startsWith(LOGIT) ? target : null })}
    />
  );
}
