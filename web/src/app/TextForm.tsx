import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { kept } from "../api/kept";
import { useStore } from "../state/store";
import type { Subject } from "../state/subject";

/** The text, and a second one for models that read two; Enter, or leaving the button, reads them. */
export function TextForm({ subject }: { subject: Subject }) {
  const choose = useStore((state) => state.choose);
  const [text, setText] = useState(subject.text);
  const [pair, setPair] = useState(subject.pair);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => setText(subject.text), [subject.text]);
  useEffect(() => setPair(subject.pair), [subject.pair]);
  const changed = text !== subject.text || (pair || null) !== (subject.pair || null);
  const most = subject.session.limits.characters;
  const tooLong = text.length > most;
  const run = (event?: FormEvent) => {
    event?.preventDefault();
    if (changed) choose({ text, pair: pair || null, word: null, target: null, layers: null });
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) run(event);
    if (event.key === "Escape") setText(subject.text);
  };
  const lines = Math.min(4, Math.max(1, Math.ceil(text.length / 90)));
  return (
    <form className="text-form" onSubmit={run} role="search" aria-label="Text">
      <div className="fields">
        <label className="unseen" htmlFor="text">
          Text
        </label>
        <textarea
          id="text"
          ref={field}
          rows={lines}
          value={text}
          dir="auto"
          spellCheck={false}
          readOnly={kept !== null}
          title={kept ? "This file holds one text; attnscope serve reads any" : undefined}
          placeholder="Type a sentence, and press Enter"
          aria-invalid={tooLong || undefined}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={keys}
        />
        {pair !== null && (
          <div className="pair">
            <label className="unseen" htmlFor="pair">
              Second text
            </label>
            <textarea
              id="pair"
              rows={1}
              value={pair}
              dir="auto"
              spellCheck={false}
              readOnly={kept !== null}
              placeholder="The second text, for models that compare two"
              onChange={(event) => setPair(event.target.value)}
              onKeyDown={keys}
            />
            {!kept && (
              <button type="button" className="quiet" aria-label="Remove the second text" onClick={() => setPair(null)}>
                ×
              </button>
            )}
          </div>
        )}
      </div>
      {pair === null && !kept && (
        <button
          type="button"
          className="quiet add-pair"
          onClick={() => setPair("")}
          title="Add a second text, for models that read two"
        >
          + pair
        </button>
      )}
      {!kept && (
        <button type="submit" className="run" disabled={!changed || tooLong}>
          Read <kbd>↵</kbd>
        </button>
      )}
      {tooLong && (
        <p className="small problem" role="alert">
          {text.length.toLocaleString("en")} characters; {most.toLocaleString("en")} are the most.
        </p>
      )}
    </form>
  );
}
