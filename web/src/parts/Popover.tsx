import { type ReactNode, useEffect, useId, useRef, useState } from "react";

interface Props {
  /** What stands on the button. */
  button: ReactNode;
  label?: string;
  className?: string;
  align?: "start" | "end";
  children: ReactNode | ((close: () => void) => ReactNode);
}

/** A button that opens a panel; Escape, or a click elsewhere, closes it. */
export function Popover({ button, label, className = "", align = "start", children }: Props) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const id = useId();
  const close = () => setOpen(false);
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    const onEscape = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      setOpen(false);
      opener.current?.focus();
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("keydown", onEscape, true);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("keydown", onEscape, true);
    };
  }, [open]);
  return (
    <div className={`popover ${className}`} ref={root}>
      <button
        ref={opener}
        type="button"
        className="quiet"
        aria-expanded={open}
        aria-controls={id}
        aria-label={label}
        onClick={() => setOpen(!open)}
      >
        {button}
      </button>
      {open && (
        <div className="popover-panel" id={id} data-align={align}>
          {typeof children === "function" ? children(close) : children}
        </div>
      )}
    </div>
  );
}
