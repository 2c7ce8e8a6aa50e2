import { kept } from "../api/kept";
import { useStore } from "../state/store";
import type { Subject } from "../state/subject";
import { LOGIT } from "../views/flow/options";
import { type Segment, Segmented } from "./Segmented";

type Unit = Subject["unit"];

const UNITS: readonly Segment<Unit>[] = [
  { value: "token", label: "Tokens", title: "As the model cuts the text" },
  { value: "word", label: "Words", title: "Pieces of a word together" },
];

/** What a text is counted in. A page with its answers inside holds one of the two. */
export function UnitChooser({ subject }: { subject: Subject }) {
  const choose = useStore((state) => state.choose);
  const unit = useStore((state) => state.unit);
  const target = useStore((state) => state.target);
  if (kept) return null;
  const isFree = subject.unit === unit;
  return (
    <Segmented
      label="Unit"
      value={subject.unit}
      options={
        isFree
          ? UNITS
          : UNITS.map((one) =>
              one.value === "token" ? { ...one, disabled: true, title: "The models cut texts differently" } : one,
            )
      }
      // Labels are of tokens or of words; a class is called the same in both.
      onChange={(value) => choose({ unit: value, word: null, target: target?.startsWith(LOGIT) ? target : null })}
    />
  );
}
