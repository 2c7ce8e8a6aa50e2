/** The first two minutes: three quiet steps that move the real controls. Whoever wants to, skips them. */

import { useEffect } from "react";
import { kept } from "../api/kept";
import { useStore } from "../state/store";
import type { Subject } from "../state/subject";
import { type Choices, DEFAULTS } from "../state/url";

interface Step {
  title: string;
  text: string;
  /** What the step sets; all else is as on the first visit. */
  set: Partial<Choices>;
}

const SEEN = "attnscope.story";

export function stepsFor({ session, models }: Subject): Step[] {
  const hasNorms = session.measures.some(({ name, available }) => name === "attention_norm" && available.a);
  const first = models.b
    ? "Each ring is a layer, the first one outermost. Purple is model A, before fine-tuning."
    : "Each ring is a layer, the first one outermost.";
  const steps: Step[] = [
    {
      title: "Where it looks",
      text: `${first} By attention weights, much of what reaches the middle is [CLS] and [SEP], which say nothing.`,
      set: { measure: "weight", show: "a" },
    },
    {
      title: "What it takes",
      text: "The same attention by what it carries: the length of weight times vector. The vectors of special tokens are short, so [CLS] and [SEP] shrink; the words remain.",
      set: { measure: "attention_norm", show: "a" },
    },
    {
      title: "What fine-tuning changed",
      text: "Model B, in teal, was taught to tell good reviews from bad. Teal is what it uses more: look at the words that carry the judgement.",
      set: { measure: "head_norm", show: "diff" },
    },
  ];
  return steps.slice(0, !hasNorms ? 1 : models.b ? 3 : 2);
}

export function Story({ subject }: { subject: Subject }) {
  const story = useStore((state) => state.story);
  const choose = useStore((state) => state.choose);
  const steps = stepsFor(subject);
  useFirstVisit(subject);
  const step = story === null ? undefined : steps[story - 1];
  if (!step || story === null) return null;
  const isLast = story === steps.length;
  const close = () => {
    remember();
    choose({ ...(isLast && { show: "both" }), story: null });
  };
  return (
    <section className="story" aria-label="Introduction" aria-live="polite">
      <p className="small soft numbers">
        {story} of {steps.length}
      </p>
      <h2>{step.title}</h2>
      <p>{step.text}</p>
      <div className="story-steps">
        <button type="button" className="quiet" onClick={close}>
          {isLast ? "Close" : "Skip"}
        </button>
        {story > 1 && (
          <button type="button" className="quiet" onClick={() => choose(storyStep(steps, story - 1))}>
            Back
          </button>
        )}
        {isLast ? (
          <button
            type="button"
            className="primary"
            onClick={() => {
              close();
              const text = document.getElementById("text") as HTMLTextAreaElement | null;
              text?.focus();
              text?.select();
            }}
          >
            Try a sentence of your own
          </button>
        ) : (
          <button type="button" className="primary" onClick={() => choose(storyStep(steps, story + 1))}>
            Next: {steps[story]?.title.toLowerCase()}
          </button>
        )}
      </div>
    </section>
  );
}

/** Everything a step needs, and nothing left over from elsewhere but the theme. */
export function storyStep(steps: readonly Step[], number: number): Partial<Choices> {
  const { theme: _, ...rest } = DEFAULTS;
  return { ...rest, ...steps[number - 1]?.set, story: number };
}

/** The demo tells its story once: on a first visit to a plain address. */
function useFirstVisit(subject: Subject): void {
  const choose = useStore((state) => state.choose);
  const isDemo = subject.session.demo !== null && !kept;
  useEffect(() => {
    if (!isDemo || location.search !== "" || isRemembered()) return;
    remember();
    choose(storyStep(stepsFor(subject), 1), { quiet: true });
  }, [isDemo, subject, choose]);
}

function isRemembered(): boolean {
  try {
    return localStorage.getItem(SEEN) !== null;
  } catch {
    // A browser that keeps nothing would tell the story at every visit.
    return true;
  }
}

function remember(): void {
  try {
    localStorage.setItem(SEEN, "1");
  } catch {
    // Then it is told again next time.
  }
}
