import type { ReactNode } from "react";
import { Stopped } from "../api/refusal";

/** Nothing to show yet, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state">
      <svg
        viewBox="0 0 64 64"
        width="64"
        height="64"
        fill="none"
        stroke="var(--rule)"
        strokeWidth="2"
        aria-hidden="true"
      >
        <circle cx="32" cy="32" r="30" />
        <circle cx="32" cy="32" r="20" />
        <circle cx="32" cy="32" r="10" />
        <circle cx="32" cy="32" r="2" fill="var(--rule)" />
      </svg>
      <h2>{title}</h2>
      {children && <div className="soft">{children}</div>}
    </div>
  );
}

interface WorkingProps {
  what: string;
  steps?: { done: number; total: number } | undefined;
  onCancel?: (() => void) | undefined;
}

/** Something is being worked out: how far it is, and a way to stop it. */
export function Working({ what, steps, onCancel }: WorkingProps) {
  const part = steps && steps.total > 0 ? steps.done / steps.total : undefined;
  return (
    <div className="state" role="status">
      <progress aria-label={what} {...(part === undefined ? {} : { value: part })} />
      <p>
        {what}
        {steps && steps.total > 1 && (
          <span className="soft numbers">
            {" "}
            · {steps.done} of {steps.total}
          </span>
        )}
      </p>
      {onCancel && (
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      )}
    </div>
  );
}

function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.?!…]$/.test(text) ? text : `${text}.`;
}

/** What went wrong, as one sentence, and a way on. */
export function Failed({ error, onRetry }: { error: Error; onRetry?: (() => void) | undefined }) {
  return (
    <div className="state" role="alert">
      <h2>{error instanceof Stopped ? "Called off" : "That did not work"}</h2>
      <p>{sentence(error.message)}</p>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {error instanceof Stopped ? "Do it after all" : "Try again"}
        </button>
      )}
    </div>
  );
}
