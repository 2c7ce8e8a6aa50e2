/** How wide text is. In the browser it is measured; elsewhere it is reckoned by kinds of characters. */

export type Measure = (text: string, size: number) => number;

const WIDE = /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE4F\uFF00-\uFF60\u{1F300}-\u{1FAFF}]/u;
const NARROW = /[.,;:!|'’‘()[\]ijlt1 ]/;

export const reckoned: Measure = (text, size) => {
  let widths = 0;
  for (const letter of text) widths += WIDE.test(letter) ? 1 : NARROW.test(letter) ? 0.33 : 0.58;
  return widths * size;
};

const known = new Map<string, number>();
let context: CanvasRenderingContext2D | null | undefined;

/** Of the typeface that drawings use. */
export const measured: Measure = (text, size) => {
  context ??= document.createElement("canvas").getContext("2d");
  if (!context) return reckoned(text, size);
  let width = known.get(text);
  if (width === undefined) {
    context.font = "500 100px Inter, sans-serif";
    width = context.measureText(text).width / 100;
    known.set(text, width);
  }
  return width * size;
};

/** As much of a text as fits, with an ellipsis where something is left out; empty if not even one letter fits. */
export function fitted(text: string, size: number, room: number, measure: Measure): string {
  if (measure(text, size) <= room) return text;
  const letters = [...text];
  let low = 0;
  let high = letters.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(`${letters.slice(0, middle).join("").trimEnd()}…`, size) <= room) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? "" : `${letters.slice(0, low).join("").trimEnd()}…`;
}
