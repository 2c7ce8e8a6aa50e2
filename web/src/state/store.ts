/** The one place where choices are kept. What is in `Choices` is in the address; what is only looked at is not. */

import { create } from "zustand";
import { type Choices, DEFAULTS, format, parse } from "./url";

/** What the pointer is on: a token by its label, and the layer or head where that is known. */
export interface Hover {
  word: string;
  layer?: number;
  head?: number;
}

interface State extends Choices {
  hover: Hover | null;
  /** Change what is chosen. `quiet` is for dragging: the address follows, and the back button doesn't stop at it. */
  choose: (change: Partial<Choices>, how?: { quiet?: boolean }) => void;
  point: (hover: Hover | null) => void;
}

/** The address is rewritten at rest: it takes time, and browsers stop listening to a page that does it at every move. */
const PAUSE = 200;
let pending: ReturnType<typeof setTimeout> | undefined;

function settle(): void {
  if (pending === undefined) return;
  drop();
  history.replaceState(null, "", location.pathname + format(useStore.getState()));
}

function drop(): void {
  clearTimeout(pending);
  pending = undefined;
}

export const useStore = create<State>()((set, get) => ({
  ...parse(location.search),
  hover: null,
  choose: (change, how) => {
    if (!how?.quiet) settle();
    const before = format(get());
    set(change);
    if (format(get()) === before) return;
    if (how?.quiet) {
      clearTimeout(pending);
      pending = setTimeout(settle, PAUSE);
    } else history.pushState(null, "", location.pathname + format(get()));
  },
  point: (hover) => {
    const now = get().hover;
    if (now?.word !== hover?.word || now?.layer !== hover?.layer || now?.head !== hover?.head) set({ hover });
  },
}));

/** Back and forward: what the address says is chosen. */
export function followHistory(): () => void {
  const follow = () => {
    drop();
    useStore.setState({ ...parse(location.search), hover: null });
  };
  addEventListener("popstate", follow);
  return () => removeEventListener("popstate", follow);
}

/** Everything as on the first visit, but the theme. */
export function startAgain(): void {
  useStore.getState().choose({ ...DEFAULTS, theme: useStore.getState().theme });
}
