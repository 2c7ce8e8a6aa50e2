/** How numbers are written. */

export function percent(value: number): string {
  const shown = Math.abs(value) * 100;
  const written = shown === 0 ? "0" : shown < 0.05 ? "< 0.1" : shown < 9.95 ? shown.toFixed(1) : shown.toFixed(0);
  return `${value < 0 ? "−" : ""}${written} %`;
}
