/** A drawing as a file of its own: with its ground, its typeface by name, and a line that says what it shows. */

import { reckoned } from "../views/flow/lettering";

const NAMESPACE = "http://www.w3.org/2000/svg";
const MARGIN = 12;
const LINE = 16;
const GAP = 8;
const TYPE = 11;

const waiting = new WeakMap<Element, () => string>();

/** What is painted on a canvas on the screen, and written into this element (marked data-later) when it is kept. */
export function later(element: SVGGElement, markup: () => string): void {
  waiting.set(element, markup);
}

export interface Figure {
  /** Says what is shown: measure, model, error. */
  caption: string;
  ground: string;
  ink: string;
  /** What the colours stand for: comes under the drawing. */
  legend?: SVGSVGElement | null;
  /** Style sheet with the typefaces, where they must travel along. */
  fonts?: string;
}

export function svgText(drawing: SVGSVGElement, { caption, ground, ink, legend, fonts }: Figure): string {
  const { width, height: drawn } = sizeOf(drawing);
  const under = legend ? sizeOf(legend).height + GAP : 0;
  const height = drawn + under;
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const originals = drawing.querySelectorAll("[data-later]");
  for (const [place, element] of copy.querySelectorAll("[data-later]").entries()) {
    element.innerHTML = waiting.get(originals[place]!)?.() ?? "";
    element.removeAttribute("data-later");
  }
  for (const helper of copy.querySelectorAll("[data-screen-only]")) helper.remove();
  for (const name of ["class", "tabindex", "style", "role"]) copy.removeAttribute(name);
  const lines = wrapped(caption, width);
  const [wide, tall] = [width + 2 * MARGIN, height + 2 * MARGIN + LINE * lines.length];
  copy.setAttribute("xmlns", NAMESPACE);
  copy.setAttribute("width", String(wide));
  copy.setAttribute("height", String(tall));
  copy.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${wide} ${tall}`);
  copy.setAttribute("font-family", "Inter, 'Noto Sans CJK JP', 'Hiragino Sans', Helvetica, Arial, sans-serif");
  if (legend) {
    const group = element("g", { transform: `translate(0 ${drawn + GAP})` });
    group.append(...(legend.cloneNode(true) as SVGSVGElement).childNodes);
    copy.append(group);
  }
  const page = element("rect", {
    x: String(-MARGIN),
    y: String(-MARGIN),
    width: String(wide),
    height: String(tall),
    fill: ground,
  });
  copy.prepend(page);
  if (fonts) {
    const style = document.createElementNS(NAMESPACE, "style");
    style.textContent = fonts;
    copy.prepend(style);
  }
  for (const [place, text] of lines.entries()) {
    const line = element("text", { y: String(height + LINE * (place + 1)), "font-size": String(TYPE), fill: ink });
    line.textContent = text;
    copy.append(line);
  }
  return new XMLSerializer().serializeToString(copy);
}

/** The caption in lines as wide as the drawing, broken between its parts where that does. */
function wrapped(caption: string, width: number): string[] {
  const lines: string[] = [];
  for (const part of caption.split(" · ").flatMap((one) => pieces(one, width))) {
    const longer = lines.length ? `${lines.at(-1)} · ${part}` : part;
    if (lines.length && reckoned(longer, TYPE) > width) lines.push(part);
    else lines.splice(-1, 1, longer);
  }
  return lines;
}

/** A part by its words, where it is wider than a line. */
function pieces(part: string, width: number): string[] {
  const found: string[] = [];
  for (const word of part.split(" ")) {
    const longer = found.length ? `${found.at(-1)} ${word}` : word;
    if (found.length && reckoned(longer, TYPE) > width) found.push(word);
    else found.splice(-1, 1, longer);
  }
  return found;
}

function sizeOf(drawing: SVGSVGElement): { width: number; height: number } {
  const [, , width, height] = (drawing.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  if (width && height) return { width, height };
  const box = drawing.getBoundingClientRect();
  return { width: Math.round(box.width), height: Math.round(box.height) };
}

function element(name: string, attributes: Record<string, string>): SVGElement {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
