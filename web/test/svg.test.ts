import { expect, it } from "vitest";
import { svgText } from "../src/export/svg";
import { reckoned } from "../src/views/flow/lettering";

function exported(caption: string, width = 200): SVGSVGElement {
  document.body.innerHTML = `<svg viewBox="0 0 ${width} 100"><g><rect data-screen-only=""/><circle r="3"/></g></svg>`;
  const text = svgText(document.querySelector("svg")!, { caption, ground: "#fff", ink: "#000" });
  const holder = document.createElement("div");
  holder.innerHTML = text;
  return holder.querySelector("svg")!;
}

it("keeps what is drawn, and leaves out what only helps on a screen", () => {
  const found = exported("weight");
  expect(found.querySelectorAll("circle")).toHaveLength(1);
  expect(found.querySelectorAll("[data-screen-only]")).toHaveLength(0);
  expect(found.querySelector("text")!.textContent).toBe("weight");
});

it("stands on its ground with a margin", () => {
  const found = exported("weight");
  expect(found.getAttribute("viewBox")).toBe("-12 -12 224 140");
  expect(found.getAttribute("width")).toBe("224");
  expect(found.firstElementChild!.getAttribute("height")).toBe("140");
});

it("has what its colours stand for under it, and the caption under that", () => {
  document.body.innerHTML =
    '<svg viewBox="0 0 200 100"><circle r="3"/></svg><svg viewBox="0 0 150 24"><text>20 %</text></svg>';
  const [drawing, legend] = document.querySelectorAll("svg");
  const holder = document.createElement("div");
  holder.innerHTML = svgText(drawing!, { caption: "weight", ground: "#fff", ink: "#000", legend: legend! });
  const [key, caption] = holder.querySelectorAll("text");
  expect(key!.textContent).toBe("20 %");
  expect(key!.parentElement!.getAttribute("transform")).toBe("translate(0 108)");
  expect(Number(caption!.getAttribute("y"))).toBeGreaterThan(108 + 24);
  expect(holder.querySelector("svg")!.getAttribute("viewBox")).toBe("-12 -12 224 172");
  expect(legend!.querySelectorAll("text")).toHaveLength(1);
});

it("breaks a long caption into lines, and loses nothing of it", () => {
  const caption = "Share of [CLS] by weight · A all-MiniLM-L6-v2, B all-MiniLM-L6-v2 + minilm-sst2 · 13 tokens";
  const lines = [...exported(caption).querySelectorAll("text")].map(({ textContent }) => textContent!);
  expect(lines.length).toBeGreaterThan(2);
  for (const line of lines) expect(reckoned(line, 11)).toBeLessThanOrEqual(200);
  expect(lines.join(" ").replaceAll(" · ", " ")).toBe(caption.replaceAll(" · ", " "));
});
