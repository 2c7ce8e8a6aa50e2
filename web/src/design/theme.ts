/** The palette of the moment, for drawings as values and for everything else as custom properties. */

import { useEffect, useSyncExternalStore } from "react";
import { useStore } from "../state/store";
import { PALETTES, type Palette, themeOf } from "./colour";

const PREFERENCE = "(prefers-color-scheme: dark)";

function listen(changed: () => void): () => void {
  const query = matchMedia(PREFERENCE);
  query.addEventListener("change", changed);
  return () => query.removeEventListener("change", changed);
}

export function usePalette(): Palette {
  const choice = useStore((state) => state.theme);
  const prefersDark = useSyncExternalStore(listen, () => matchMedia(PREFERENCE).matches);
  return PALETTES[themeOf(choice, prefersDark)];
}

/** Every colour as --name, and every step of a scale as --name-step. */
export function properties(palette: Palette): [string, string][] {
  return Object.entries(palette).flatMap(([name, value]) => {
    const property = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (Array.isArray(value)) return value.map((colour, place) => [`${property}-${place}`, colour] as [string, string]);
    return [[property, value as string] as [string, string]];
  });
}

/** Puts the palette on the page. */
export function useTheme(): void {
  const palette = usePalette();
  useEffect(() => {
    const { style, dataset } = document.documentElement;
    for (const [name, value] of properties(palette)) style.setProperty(name, value);
    style.colorScheme = palette.theme;
    dataset.theme = palette.theme;
  }, [palette]);
}
