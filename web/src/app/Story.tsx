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

/** What the demo's models show can be said of them; of others, what to look for. */
const TEXTS = {
  demo: {
    looks: "By attention weights, much of what reaches the middle is [CLS] and [SEP], which say nothing.",
    takes:
      "The same attention by what it carries: the length of weight times vector. The vectors of special tokens are short, so [CLS] and [SEP] shrink; the words remain.",
    changed:
      "Model B, in teal, was taught to tell good reviews from bad. Teal is what it uses more: look at the words that carry the judgement.",
  },
  other: {
    looks:
      "By attention weights, much of what reaches the middle is often a token that says little: [CLS], [SEP], the first of the text, a full stop.",
    takes:
      "The same attention by what it carries: the length of weight times vector. Tokens whose vectors are short shrink, whatever their weight; what remains is what the model takes.",
    changed: "Teal is what model B uses more, purple what model A does. Look at the words that gained.",
  },
} as const;

export function stepsFor(subject: Subject): Step[] {
  const { session, models } = subject;
  const hasNorms = session.measures.some(({ name, available }) => name === "attention_norm" && available.a);
  const texts = TEXTS[isDemo(subject) ? "demo" : "other"];
  const rings = "Each ring is a layer, the first one outermost.";
  const steps: Step[] = [
    {
      title: "Where it looks",
      text: `${rings}${models.b ? " Purple is model A." : ""} ${texts.looks}`,
      set: { measure: "weight", show: "a" },
    },
    { title: "What it takes", text: texts.takes, set: { measure: "attention_norm", show: "a" } },
    {
      title: isDemo(subject) ? "What fine-tuning changed" : "What changed",
      text: texts.changed,
      set: { measure: "head_norm", show: "diff" },
    },
  ];
  return steps.slice(0, !hasNorms ? 1 : models.b ? 3 : 2);
}

/** A file opens with a text as well, but of anybody's models. */
function isDemo({ session }: Subject): boolean {
  return session.demo !== null && !kept;
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
  const isFirst = isDemo(subject);
  useEffect(() => {
    if (!isFirst || location.search !== "" || isRemembered()) return;
    remember();
    choose(storyStep(stepsFor(subject), 1), { quiet: true });
  }, [isFirst, subject, choose]);
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
