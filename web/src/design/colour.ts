/**
 * All colours, and nothing else. They are made in OKLCH, where equal steps of lightness look equal, so that twice as
 * much looks twice as deep; dark is the same order of contrast from the other end. Model A is purple, model B teal,
 * both are ink; where one is taken from the other, purple is more in A and teal more in B.
 */

export type Theme = "light" | "dark";

export interface Palette {
  theme: Theme;
  /** The page, what lies on it (fields), and what lies above it (notes). */
  paper: string;
  field: string;
  raised: string;
  /** From what must be read to what may be overlooked. */
  ink: string;
  soft: string;
  faint: string;
  rule: string;
  /** The models, and what both have. */
  a: string;
  b: string;
  both: string;
  accent: string;
  warning: string;
  /** 17 steps from nothing (the page) to the most, one hue each. */
  amountsA: readonly string[];
  amountsB: readonly string[];
  amountsBoth: readonly string[];
  /** 17 steps from more in A through the page to more in B. */
  difference: readonly string[];
}

export type Which = "a" | "b" | "both";

const HUE = { a: 300, b: 187, both: 292 } as const;
const CHROMA = { a: 0.155, b: 0.092, both: 0.03 } as const;
const STEPS = 17;

/** What a person chose, or what their machine is set to. */
export function themeOf(choice: "auto" | Theme, prefersDark: boolean): Theme {
  return choice === "auto" ? (prefersDark ? "dark" : "light") : choice;
}

/** The step of a scale for a share of the most, from 0 to 1. */
export function step(scale: readonly string[], amount: number): string {
  return scale[Math.round(clamp(amount) * (scale.length - 1))]!;
}

/** The step of the difference scale for a difference from −1 (more in A) to 1 (more in B). */
export function stepBetween(scale: readonly string[], difference: number): string {
  return step(scale, (difference + 1) / 2);
}

/** A colour between the steps of a scale, as red, green and blue from 0 to 255: for heat maps, pixel by pixel. */
export function lookup(scale: readonly string[], size = 256): Uint8ClampedArray {
  const stops = scale.map((hex) => oklab(hex));
  const found = new Uint8ClampedArray(size * 3);
  for (let place = 0; place < size; place++) {
    const at = (place / (size - 1)) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    const [from, to] = [stops[low]!, stops[low + 1]!];
    const mixed = from.map((value, part) => value + (to[part]! - value) * (at - low)) as Triple;
    found.set(rgb(mixed), place * 3);
  }
  return found;
}

function make(theme: Theme): Palette {
  const dark = theme === "dark";
  const [near, far] = dark ? [0.19, 0.9] : [0.985, 0.3];
  const scale = (which: Which) => amounts(HUE[which], CHROMA[which], near, far);
  return {
    theme,
    paper: oklch(dark ? 0.19 : 0.985, dark ? 0.012 : 0.004, 300),
    field: oklch(dark ? 0.235 : 0.958, dark ? 0.014 : 0.007, 300),
    raised: oklch(dark ? 0.26 : 1, dark ? 0.016 : 0, 300),
    ink: oklch(dark ? 0.94 : 0.24, 0.022, 292),
    soft: oklch(dark ? 0.74 : 0.46, 0.022, 292),
    faint: oklch(dark ? 0.62 : 0.56, 0.02, 292),
    rule: oklch(dark ? 0.33 : 0.895, 0.012, 300),
    a: oklch(dark ? 0.74 : 0.45, dark ? 0.13 : 0.185, HUE.a),
    b: oklch(dark ? 0.76 : 0.52, dark ? 0.1 : 0.09, HUE.b),
    both: oklch(dark ? 0.86 : 0.32, 0.03, HUE.both),
    accent: oklch(dark ? 0.74 : 0.45, dark ? 0.13 : 0.185, HUE.a),
    warning: oklch(dark ? 0.78 : 0.5, 0.12, 55),
    amountsA: scale("a"),
    amountsB: scale("b"),
    amountsBoth: scale("both"),
    difference: [...scale("a").filter(even).toReversed(), ...scale("b").filter(even).slice(1)],
  };
}

function even(_: string, place: number): boolean {
  return place % 2 === 0;
}

/** Even steps of lightness; the colour is fullest in the middle, where a screen can show the most of it. */
function amounts(hue: number, chroma: number, near: number, far: number): string[] {
  return Array.from({ length: STEPS }, (_, place) => {
    const at = place / (STEPS - 1);
    return oklch(near + (far - near) * at, 0.004 + chroma * Math.sin(Math.PI * (0.12 + 0.66 * at)) * at ** 0.45, hue);
  });
}

export const PALETTES: Record<Theme, Palette> = { light: make("light"), dark: make("dark") };

/** Relative luminance as contrast is reckoned with (WCAG 2). */
export function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(hex: string): number {
  const [red, green, blue] = linear(hex);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Perceived lightness from 0 to 1. */
export function lightness(hex: string): number {
  return oklab(hex)[0];
}

type Triple = [number, number, number];

/** As #rrggbb; what a screen can't show is brought in by taking colour away, never lightness. */
export function oklch(light: number, chroma: number, hue: number): string {
  const turn = (hue * Math.PI) / 180;
  for (let left = chroma; ; left -= 0.004) {
    const found = unclamped([light, Math.max(left, 0) * Math.cos(turn), Math.max(left, 0) * Math.sin(turn)]);
    if (left <= 0 || found.every((value) => value >= -1e-3 && value <= 1.001)) return hex(found);
  }
}

function rgb(lab: Triple): Triple {
  return unclamped(lab).map((value) => Math.round(255 * gamma(clamp(value)))) as Triple;
}

function hex(values: Triple): string {
  return `#${values
    .map((value) =>
      Math.round(255 * gamma(clamp(value)))
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

// The matrices are those of the OKLab definition (Ottosson 2020).
function unclamped([light, a, b]: Triple): Triple {
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function oklab(colour: string): Triple {
  const [red, green, blue] = linear(colour);
  const l = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const m = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const s = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function linear(colour: string): Triple {
  return [1, 3, 5].map((from) => {
    const value = Number.parseInt(colour.slice(from, from + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as Triple;
}

function gamma(value: number): number {
  return value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055;
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value));
}
