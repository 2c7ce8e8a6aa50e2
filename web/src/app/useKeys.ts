import { useEffect } from "react";
import { useStore } from "../state/store";
import { VIEWS } from "../views";

/** Sliders and radio buttons take no letters. */
function isTyping(target: HTMLElement): boolean {
  if (target instanceof HTMLInputElement) return !["radio", "range", "checkbox"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

/** The keys that work everywhere but while typing. */
export function useKeys(): void {
  const choose = useStore((state) => state.choose);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(target)) return;
      const view = /^[1-9]$/.test(event.key) ? VIEWS[Number(event.key) - 1] : undefined;
      if (view) choose({ view: view.name });
      else if (event.key === "Escape") choose({ word: null });
      else if (event.key === "/") {
        event.preventDefault();
        document.getElementById("text")?.focus();
      }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [choose]);
}
