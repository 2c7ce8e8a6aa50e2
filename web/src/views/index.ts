/** All views, in the order of their tabs. A new one is a folder, and a line here. */

import { type ComponentType, lazy } from "react";
import { isKept } from "../api/kept";
import type { Subject } from "../state/subject";

export interface ViewProps {
  subject: Subject;
}

export interface ViewEntry {
  /** As the address has it. */
  name: string;
  title: string;
  /** What it answers, in a few words. */
  question: string;
  /** The server's question without which it has nothing to show. */
  asks: string;
  View: ComponentType<ViewProps>;
}

const ALL: readonly ViewEntry[] = [
  {
    name: "flow",
    title: "Flow",
    question: "Which words reach the decision, and through which heads?",
    asks: "maps",
    View: lazy(() => import("./flow/View")),
  },
  {
    name: "heads",
    title: "Heads",
    question: "What does each head look at, and what does it take in?",
    asks: "heads",
    View: lazy(() => import("./heads/View")),
  },
  {
    name: "words",
    title: "Words",
    question: "What does each word add to the decision?",
    asks: "words",
    View: lazy(() => import("./words/View")),
  },
  {
    name: "search",
    title: "Search",
    question: "Which heads and layers look at a word?",
    asks: "search",
    View: lazy(() => import("./search/View")),
  },
];

/** A page with its answers inside shows those that it has answers for. */
export const VIEWS = ALL.filter(({ asks }) => isKept(asks));
