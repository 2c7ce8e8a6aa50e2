import { type ReactNode, useId } from "react";

export interface Segment<T extends string> {
  value: T;
  label: ReactNode;
  /** What it means, on hover. */
  title?: string;
  disabled?: boolean;
}

interface Props<T extends string> {
  label: string;
  value: T;
  options: readonly Segment<T>[];
  onChange: (value: T) => void;
  showLabel?: boolean;
}

/** One of a few: radio buttons that look like one control, with the arrow keys of radio buttons. */
export function Segmented<T extends string>({ label, value, options, onChange, showLabel = true }: Props<T>) {
  const name = useId();
  return (
    <fieldset className="segmented">
      <legend className={showLabel ? undefined : "unseen"}>{label}</legend>
      <div>
        {options.map((option) => (
          <label key={option.value} title={option.title} data-on={option.value === value || undefined}>
            <input
              type="radio"
              name={name}
              checked={option.value === value}
              disabled={option.disabled}
              onChange={() => onChange(option.value)}
            />
            <span>{option.label}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
