/** Dragging is one choice: the back button returns to where it began, not to every place on the way. */

import { useCallback, useRef } from "react";
import { useStore } from "./store";
import type { Choices } from "./url";

export function useDragging() {
  const choose = useStore((state) => state.choose);
  const begun = useRef(false);
  const drag = useCallback(
    (change: Partial<Choices>) => {
      choose(change, { quiet: begun.current });
      begun.current = true;
    },
    [choose],
  );
  const end = useCallback(() => {
    begun.current = false;
  }, []);
  return { drag, end };
}
