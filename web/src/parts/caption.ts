/** The line under a view: which measure, which models, how many tokens, and how exact it is. */

import type { Slot } from "../api/types";

interface Shown {
  model: string;
  reconstruction_error?: number;
}

export function captionOf(what: string, models: Partial<Record<Slot, Shown>>, extra?: string): string {
  const shown = (["a", "b"] as const).flatMap((slot) => (models[slot] ? [[slot, models[slot]] as const] : []));
  const named = shown.map(([slot, { model }]) => `${slot.toUpperCase()} ${briefly(model)}`).join(", ");
  const errors = shown.flatMap(([, { reconstruction_error: error }]) => (error === undefined ? [] : [error]));
  const exact = errors.length ? `reconstruction error ${scientific(Math.max(...errors))}` : "";
  return [what, named, extra, exact].filter(Boolean).join(" · ");
}

/** A model's name; of a folder, the end of its path. */
export function briefly(name: string): string {
  return /^([./~]|[A-Za-z]:\\)/.test(name)
    ? name
        .split(/[\\/]+/)
        .filter(Boolean)
        .slice(-2)
        .join("/")
    : name;
}

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** 8.6·10⁻⁷ */
export function scientific(value: number): string {
  if (value === 0) return "0";
  const [digits, power] = value.toExponential(1).split("e") as [string, string];
  const raised = [...power.replace("+", "")].map((sign) => (sign === "-" ? "⁻" : RAISED[Number(sign)])).join("");
  return `${digits}·10${raised}`;
}
