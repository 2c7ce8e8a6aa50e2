interface Props {
  count: number;
  /** Counted from 1; null: all. */
  value: readonly number[] | null;
  onChange: (value: readonly number[] | null) => void;
}

/** Which heads count, one button each. */
export function HeadChooser({ count, value, onChange }: Props) {
  const all = Array.from({ length: count }, (_, place) => place + 1);
  const chosen = new Set(value ?? all);
  const toggle = (head: number, alone: boolean) => {
    if (alone) return onChange([head]);
    const next = all.filter((other) => (other === head ? !chosen.has(other) : chosen.has(other)));
    onChange(next.length === count || next.length === 0 ? null : next);
  };
  return (
    <fieldset className="heads">
      <legend className="label-row">
        <h3>Heads</h3>
        {value && (
          <button type="button" className="link" onClick={() => onChange(null)}>
            all
          </button>
        )}
      </legend>
      <div>
        {all.map((head) => (
          <button
            key={head}
            type="button"
            aria-pressed={chosen.has(head)}
            aria-label={`Head ${head}`}
            title="Shift-click: only this head"
            onClick={(event) => toggle(head, event.shiftKey || (value === null && !event.altKey))}
          >
            {head}
          </button>
        ))}
      </div>
    </fieldset>
  );
}
