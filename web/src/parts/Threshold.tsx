import { useId, useMemo } from "react";
import { percent } from "./numbers";

export { percent };

export interface Histogram {
  /** One more than there are counts, rising from 0. */
  edges: ArrayLike<number>;
  counts: ArrayLike<number>;
}

interface Props {
  label: string;
  value: number;
  histogram: Histogram;
  /** How a value is written. */
  write?: (value: number) => string;
  /** What passes, in words; beside the label. */
  passing?: string;
  onChange: (value: number) => void;
  onEnd: () => void;
}

const STEPS = 200;
const WIDTH = 200;
const HEIGHT = 36;

/**
 * A threshold over the values it divides. Both lie on a square-root scale, because most values are small; the heights
 * of the bars are logarithms of counts, so that the few large values can be seen.
 */
export function Threshold({ label, value, histogram, write = percent, passing, onChange, onEnd }: Props) {
  const id = useId();
  const most = histogram.edges[histogram.edges.length - 1] || 1;
  const at = Math.sqrt(Math.min(value / most, 1));
  const { below, above } = useMemo(() => bars(histogram, most, value), [histogram, most, value]);
  return (
    <div className="threshold">
      <label htmlFor={id}>
        <h3>{label}</h3>
        <output className="numbers">≥ {write(value)}</output>
      </label>
      <div className="threshold-body">
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path d={below} fill="var(--rule)" />
          <path d={above} fill="var(--soft)" />
        </svg>
        <input
          id={id}
          type="range"
          min={1}
          max={STEPS}
          value={Math.round(at * STEPS)}
          aria-valuetext={write(value)}
          onChange={(event) => onChange(most * (Number(event.target.value) / STEPS) ** 2)}
          onPointerUp={onEnd}
          onBlur={onEnd}
        />
      </div>
      {passing && <p className="small soft numbers">{passing}</p>}
    </div>
  );
}

function bars({ edges, counts }: Histogram, most: number, value: number): { below: string; above: string } {
  const x = (edge: number) => Math.sqrt(Math.max(edge, 0) / most) * WIDTH;
  let largest = 1;
  for (let bin = 0; bin < counts.length; bin++) largest = Math.max(largest, Math.log1p(counts[bin]!));
  const found = { below: "", above: "" };
  for (let bin = 0; bin < counts.length; bin++) {
    const height = (Math.log1p(counts[bin]!) / largest) * HEIGHT;
    if (height === 0) continue;
    const [from, to] = [edges[bin]!, edges[bin + 1]!];
    const parts: ["below" | "above", number, number][] =
      value <= from
        ? [["above", from, to]]
        : value >= to
          ? [["below", from, to]]
          : [
              ["below", from, value],
              ["above", value, to],
            ];
    for (const [side, start, end] of parts) {
      const [left, right] = [x(start), x(end)];
      const gap = right - left > 3 ? 0.8 : 0;
      found[side] +=
        `M${left.toFixed(1)} ${HEIGHT}V${(HEIGHT - height).toFixed(1)}H${(right - gap).toFixed(1)}V${HEIGHT}Z`;
    }
  }
  return found;
}
