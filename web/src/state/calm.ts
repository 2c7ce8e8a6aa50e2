/** What stands beside something that is dragged: it may be a moment late. */

import { startTransition, useEffect, useRef, useState } from "react";

const PAUSE = 150;

/** A value at once where it changes now and then; while it changes at every frame, so many times a second. */
export function useCalm<T>(value: T): T {
  const [calm, setCalm] = useState(value);
  const last = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const timer = setTimeout(
      () => {
        last.current = performance.now();
        startTransition(() => setCalm(() => value));
      },
      last.current + PAUSE - performance.now(),
    );
    return () => clearTimeout(timer);
  }, [value]);
  return calm;
}
