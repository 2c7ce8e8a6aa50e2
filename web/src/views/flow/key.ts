/** What the colours and lines of a drawing stand for, in numbers: as marks, so that an exported figure has them too. */

import type { Palette } from "../../design/colour";
import { percent } from "../../parts/numbers";
import type { Measure } from "./lettering";
import { peaks } from "./rings";
import type { Flow } from "./useFlow";

/** A scale has a bar for each model; everything has a text behind it, and a scale its first number before it. */
export interface KeyItem {
  kind: "scale" | "swatch" | "outline" | "lines";
  text: string;
  from?: string;
  bars?: readonly { name: string; colour: string; scale: readonly string[] }[];
  colours?: readonly string[];
}

export interface Placed extends KeyItem {
  x: number;
  y: number;
  /** From x to the mark, and to the text behind it. */
  mark: number;
  label: number;
}

export const SIZE = 11;
export const BAR = 72;
const LINE = 24;
const NEXT = 18;
const MARKS = { scale: BAR, swatch: 10, outline: 10, lines: 16 } as const;

export function keyItems(flow: Flow, palette: Palette, draw: "rings" | "sankey"): KeyItem[] {
  const { a, b, picture, show } = flow;
  const both = a && b;
  const rings = draw === "rings";
  const found: KeyItem[] = [];
  const slots = (["a", "b"] as const).filter((slot) => flow[slot]);
  if (show === "diff") {
    const end = percent(picture.most.difference);
    const bar = { name: "", colour: palette.ink, scale: palette.difference };
    found.push({ kind: "scale", from: `A stronger ${end}`, text: `${end} B stronger`, bars: [bar] });
  } else if (rings) {
    const amounts = { a: palette.amountsA, b: palette.amountsB };
    found.push({
      kind: "scale",
      from: percent(flow.threshold),
      text: `${percent(picture.most.strength)} share`,
      // What passes is never as pale as the page.
      bars: slots.map((slot) => ({ name: slot.toUpperCase(), colour: palette[slot], scale: amounts[slot].slice(4) })),
    });
    if (both) found.push({ kind: "swatch", text: "both", colours: [palette.both] });
  } else {
    for (const slot of slots)
      found.push({
        kind: "swatch",
        text: both ? `${slot.toUpperCase()} only` : slot.toUpperCase(),
        colours: [palette[slot]],
      });
    if (both) found.push({ kind: "swatch", text: "both", colours: [palette.both] });
  }
  if (!rings) return [...found, { kind: "lines", text: "as wide as its part of the target", colours: [] }];
  const ends = peaks(picture);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  return [
    ...found,
    { kind: "outline", text: "strongest in a ring" },
    {
      kind: "lines",
      text: `received, up to ${low < high ? `${percent(low).replace(" %", "")}–` : ""}${percent(high)}`,
      colours: slots.map((slot) => palette[slot]),
    },
  ];
}

/** In lines of a width. */
export function placed(
  items: readonly KeyItem[],
  width: number,
  measure: Measure,
): { items: Placed[]; height: number } {
  const found: Placed[] = [];
  let [x, y] = [0, 0];
  for (const item of items) {
    const names = item.bars?.some(({ name }) => name) ? 12 : 0;
    const mark = (item.from ? measure(item.from, SIZE) + 7 : 0) + names;
    const label = mark + (item.colours?.length === 0 ? 0 : MARKS[item.kind] + 6);
    const wide = label + measure(item.text, SIZE);
    if (x > 0 && x + wide > width) [x, y] = [0, y + LINE];
    found.push({ ...item, x, y, mark, label });
    x += wide + NEXT;
  }
  return { items: found, height: y + LINE };
}
