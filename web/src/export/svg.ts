/** A drawing as a file of its own: with its ground, its typeface by name, and a line that says what it shows. */

const NAMESPACE = "http://www.w3.org/2000/svg";
const CAPTION = 28;

export interface Figure {
  /** Says what is shown: measure, model, error. */
  caption: string;
  ground: string;
  ink: string;
  /** Style sheet with the typefaces, where they must travel along. */
  fonts?: string;
}

export function svgText(drawing: SVGSVGElement, { caption, ground, ink, fonts }: Figure): string {
  const { width, height } = sizeOf(drawing);
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  for (const helper of copy.querySelectorAll("[data-screen-only]")) helper.remove();
  for (const name of ["class", "tabindex", "style", "role"]) copy.removeAttribute(name);
  const tall = height + CAPTION;
  copy.setAttribute("xmlns", NAMESPACE);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(tall));
  copy.setAttribute("viewBox", `0 0 ${width} ${tall}`);
  copy.setAttribute("font-family", "Inter, 'Noto Sans CJK JP', 'Hiragino Sans', Helvetica, Arial, sans-serif");
  const under = element("rect", { width: String(width), height: String(tall), fill: ground });
  copy.prepend(under);
  if (fonts) {
    const style = document.createElementNS(NAMESPACE, "style");
    style.textContent = fonts;
    copy.prepend(style);
  }
  const line = element("text", { x: "12", y: String(height + 16), "font-size": "11", fill: ink });
  line.textContent = caption;
  copy.append(line);
  return new XMLSerializer().serializeToString(copy);
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
