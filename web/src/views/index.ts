/** All views, in the order of their tabs. A new one is a folder, and a line here. */

import { type ComponentType, lazy } from "react";
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
  View: ComponentType<ViewProps>;
}

export const VIEWS: readonly ViewEntry[] = [
  {
    name: "flow",
    title: "Flow",
    question: "Which words reach the decision, and through which heads?",
    View: lazy(() => import("./flow/View")),
  },
  {
    name: "heads",
    title: "Heads",
    question: "What does each head look at, and what does it take in?",
    View: lazy(() => import("./heads/View")),
  },
  {
    name: "words",
    title: "Words",
    question: "What does each word add to the decision?",
    View: lazy(() => import("./words/View")),
  },
  {
    name: "search",
    title: "Search",
    question: "Which heads and layers look at a word?",
    View: lazy(() => import("./search/View")),
  },
];
