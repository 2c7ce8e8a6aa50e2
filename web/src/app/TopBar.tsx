import type { MeasureInfo } from "../api/types";
import { useStore } from "../state/store";
import { obstacle, type Subject } from "../state/subject";
import { Answers } from "./Answers";
import { Help } from "./Help";
import { TextForm } from "./TextForm";

export function TopBar({ subject }: { subject: Subject }) {
  return (
    <header className="top">
      <div className="top-row">
        <h1 className="brand">
          <svg
            viewBox="0 0 32 32"
            width="22"
            height="22"
            fill="none"
            strokeWidth="3.2"
            strokeLinecap="round"
            aria-hidden="true"
          >
            <path d="M16 3a13 13 0 1 1-11.3 6.5" stroke="var(--a)" />
            <path d="M16 9.5a6.5 6.5 0 1 1-6.4 7.6" stroke="var(--b)" />
            <circle cx="16" cy="16" r="2" fill="var(--soft)" />
          </svg>
          attnscope
        </h1>
        <TextForm subject={subject} />
        <ThemeButton />
        <Help subject={subject} />
      </div>
      <div className="top-row second">
        <Answers subject={subject} />
        <MeasureChoice subject={subject} />
      </div>
    </header>
  );
}

function MeasureChoice({ subject }: { subject: Subject }) {
  const choose = useStore((state) => state.choose);
  const measures = ordered(subject.session.measures);
  return (
    <div className="measure" title={subject.measure.summary}>
      <label htmlFor="measure">Measure</label>
      <select
        id="measure"
        value={subject.measure.name}
        onChange={(event) => choose({ measure: event.target.value, threshold: null })}
      >
        {measures.map((one) => {
          const reason = obstacle(one, subject.models);
          return (
            <option key={one.name} value={one.name} disabled={reason !== null} title={reason ?? undefined}>
              {one.title}
            </option>
          );
        })}
      </select>
    </div>
  );
}

/** From where a head looks to what the layer, and the whole model, takes; the others after them. */
const FIRST = ["weight", "head_norm", "attention_norm", "block_norm", "feedforward_norm", "decomposed"];

function ordered(measures: readonly MeasureInfo[]): MeasureInfo[] {
  const place = ({ name }: MeasureInfo) => (FIRST.indexOf(name) + 1 || FIRST.length + 1) - 1;
  return measures.toSorted((one, other) => place(one) - place(other));
}

const NEXT = { auto: "light", light: "dark", dark: "auto" } as const;
const SAID = { auto: "as the system", light: "light", dark: "dark" } as const;

function ThemeButton() {
  const theme = useStore((state) => state.theme);
  const choose = useStore((state) => state.choose);
  return (
    <button
      type="button"
      className="quiet icon"
      aria-label={`Theme: ${SAID[theme]}. Change to ${SAID[NEXT[theme]]}`}
      title={`Theme: ${SAID[theme]}`}
      onClick={() => choose({ theme: NEXT[theme] }, { quiet: true })}
    >
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="1.4" />
        <path
          d={
            theme === "light"
              ? "M8 4.6a3.4 3.4 0 1 0 0 6.8 3.4 3.4 0 1 0 0-6.8"
              : theme === "dark"
                ? "M8 2a6 6 0 1 0 0 12 6 6 0 1 0 0-12"
                : "M8 2a6 6 0 0 1 0 12Z"
          }
          fill="currentColor"
          opacity={theme === "light" ? 0.25 : 1}
        />
      </svg>
    </button>
  );
}
