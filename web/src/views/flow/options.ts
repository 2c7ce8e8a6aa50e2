/** What the Flow view begins with, and what its choices are called. */

import type { Segment } from "../../parts/Segmented";
import type { Subject } from "../../state/subject";
import type { Choices } from "../../state/url";

/**
 * A threshold that leaves a picture one can read. Heads are sharper than all of them together; and in a long text the
 * target's own shares, of which `strongest` is the largest, may all be smaller, and at least that one is to be seen.
 */
export function defaultThreshold(perHead: boolean, reading: Choices["reading"], strongest: number): number {
  const usual = perHead && reading === "direct" ? 0.2 : 0.08;
  return Math.max(0.001, Number(Math.min(usual, 0.8 * strongest).toPrecision(2)));
}

const READINGS: readonly Segment<Choices["reading"]>[] = [
  { value: "direct", label: "Direct", title: "Each layer’s own map" },
  {
    value: "cumulative",
    label: "Rollout",
    title: "Cumulative: what a token is made of, through all layers below (rollout)",
  },
  {
    value: "flow",
    label: "Max flow",
    title: "Flow: how much could reach a token if every map were a net of pipes (maximum flow)",
  },
];

/** How maps of a measure can be read, of a text of so many tokens. */
export function readings({ measure, session, unit }: Subject, tokens: number): readonly Segment<Choices["reading"]>[] {
  return READINGS.map((one) => {
    if (!measure.readings.includes(one.value))
      return { ...one, disabled: true, title: `${measure.title} leads through all layers at once` };
    if (one.value === "flow" && tokens > session.most_flow)
      return { ...one, disabled: true, title: `Maximum flow is worked out for up to ${session.most_flow} ${unit}s` };
    return measure.readings.length === 1 ? { ...one, label: "Through all", title: measure.summary } : one;
  });
}

export const DRAWINGS: readonly Segment<Choices["draw"]>[] = [
  { value: "rings", label: "Rings", title: "One ring for each layer, the target in the middle" },
  { value: "sankey", label: "Sankey", title: "Columns of tokens, layer by layer" },
];

export const SHOWN: readonly Segment<Choices["show"]>[] = [
  { value: "both", label: "A + B", title: "Both models over each other" },
  { value: "a", label: "A", title: "Model A alone" },
  { value: "b", label: "B", title: "Model B alone" },
  { value: "diff", label: "B − A", title: "Purple: more in A. Teal: more in B" },
];

export const LOGIT = "logit:";
