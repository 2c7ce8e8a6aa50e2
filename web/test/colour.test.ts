import { describe, expect, it } from "vitest";
import { contrast, lightness, lookup, oklch, PALETTES, step, stepBetween, type Theme } from "../src/design/colour";

const THEMES: Theme[] = ["light", "dark"];
const SCALES = ["amountsA", "amountsB", "amountsBoth"] as const;

describe.each(THEMES)("the %s palette", (theme) => {
  const palette = PALETTES[theme];

  it("can be read: text by WCAG AA, marks by 3 to 1", () => {
    for (const ground of [palette.paper, palette.field, palette.raised]) {
      for (const text of ["ink", "soft", "a", "b", "warning"] as const) {
        expect(contrast(palette[text], ground), `${text} on ${ground}`).toBeGreaterThan(4.5);
      }
      expect(contrast(palette.faint, ground)).toBeGreaterThan(3);
    }
  });

  it.each(SCALES)("has even steps of lightness in %s", (name) => {
    const steps = palette[name].map(lightness);
    const gaps = steps.slice(1).map((value, place) => value - steps[place]!);
    const mean = (steps.at(-1)! - steps[0]!) / gaps.length;
    for (const gap of gaps) expect(Math.abs(gap - mean)).toBeLessThan(0.15 * Math.abs(mean));
  });

  it("begins every scale at the page", () => {
    for (const name of SCALES) expect(contrast(palette[name][0]!, palette.paper)).toBeLessThan(1.1);
    expect(contrast(palette.difference[8]!, palette.paper)).toBeLessThan(1.1);
  });
});

it("has the same order of contrast in light and dark", () => {
  for (const name of SCALES) {
    for (const theme of THEMES) {
      const contrasts = PALETTES[theme][name].map((colour) => contrast(colour, PALETTES[theme].paper));
      expect(contrasts.toSorted((one, other) => one - other)).toEqual(contrasts);
    }
  }
});

it("takes steps by amount, and differences from the middle", () => {
  const { amountsA, difference } = PALETTES.light;
  expect(step(amountsA, 0)).toBe(amountsA[0]);
  expect(step(amountsA, 7)).toBe(amountsA[16]);
  expect(stepBetween(difference, 0)).toBe(difference[8]);
  expect(stepBetween(difference, -1)).toBe(difference[0]);
});

it("mixes between the steps for heat maps", () => {
  const table = lookup(["#000000", "#ffffff"], 3);
  expect([...table.slice(0, 3), ...table.slice(6)]).toEqual([0, 0, 0, 255, 255, 255]);
  expect(table[3]).toBeGreaterThan(80);
});

it("gives up colour and not lightness where a screen ends", () => {
  expect(lightness(oklch(0.9, 0.4, 300))).toBeCloseTo(0.9, 1);
});
