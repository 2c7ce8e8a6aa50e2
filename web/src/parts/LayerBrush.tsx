import { useId } from "react";

interface Props {
  /** How many layers there are. */
  count: number;
  value: readonly [number, number] | null;
  onChange: (value: readonly [number, number] | null) => void;
  onEnd: () => void;
}

/** A range of layers, by its two ends. All of them is null. */
export function LayerBrush({ count, value, onChange, onEnd }: Props) {
  const id = useId();
  // An address may come from a model with more layers.
  const [first, last] = value && value[0] <= count ? [value[0], Math.min(value[1], count)] : [1, count];
  const set = (from: number, to: number) => onChange(from === 1 && to === count ? null : [from, to]);
  const at = (layer: number) => `${((layer - 0.5) / count) * 100}%`;
  return (
    <div className="brush">
      <div className="label-row" id={id}>
        <h3>Layers</h3>
        <output className="numbers">{first === last ? first : `${first}–${last}`}</output>
      </div>
      <div className="brush-body">
        <div className="brush-track">
          <div className="brush-range" style={{ left: at(first), right: `calc(100% - ${at(last)})` }} />
          {Array.from({ length: count }, (_, place) => (
            <i
              key={place}
              style={{ left: at(place + 1) }}
              data-in={(place + 1 >= first && place + 1 <= last) || undefined}
            />
          ))}
        </div>
        <input
          type="range"
          aria-label="First layer"
          min={1}
          max={count}
          value={first}
          style={{ width: "100%" }}
          onChange={(event) => set(Math.min(Number(event.target.value), last), last)}
          onPointerUp={onEnd}
          onBlur={onEnd}
        />
        <input
          type="range"
          aria-label="Last layer"
          min={1}
          max={count}
          value={last}
          onChange={(event) => set(first, Math.max(Number(event.target.value), first))}
          onPointerUp={onEnd}
          onBlur={onEnd}
        />
      </div>
    </div>
  );
}
