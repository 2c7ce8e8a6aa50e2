import type { KeyboardEvent } from "react";
import { useStore } from "../state/store";
import { VIEWS, type ViewEntry } from "../views";

export function ViewTabs({ current }: { current: ViewEntry }) {
  const choose = useStore((state) => state.choose);
  const move = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = VIEWS[(VIEWS.indexOf(current) + by + VIEWS.length) % VIEWS.length]!;
    choose({ view: next.name });
    document.getElementById(`tab-${next.name}`)?.focus();
  };
  return (
    <nav className="tabs" aria-label="Views">
      <div role="tablist" aria-label="Views" onKeyDown={move}>
        {VIEWS.map((entry) => (
          <button
            key={entry.name}
            id={`tab-${entry.name}`}
            type="button"
            role="tab"
            aria-selected={entry === current}
            aria-controls="view"
            tabIndex={entry === current ? 0 : -1}
            title={entry.question}
            onClick={() => choose({ view: entry.name })}
          >
            {entry.title}
          </button>
        ))}
      </div>
      <p className="small soft question">{current.question}</p>
    </nav>
  );
}
