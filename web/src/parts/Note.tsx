import type { ReactNode } from "react";
import { Popover } from "./Popover";

interface Props {
  /** What is drawn, in a sentence or two. */
  children: ReactNode;
  /** The formula, as text. */
  formula?: string | undefined;
  paper?: string | undefined;
}

/** “What am I looking at?” */
export function Note({ children, formula, paper }: Props) {
  return (
    <Popover button="What am I looking at?" className="note" align="end">
      <div className="note-body">
        {children}
        {formula && <p className="mono formula">{formula}</p>}
        {paper && <p className="small soft">{paper}</p>}
      </div>
    </Popover>
  );
}
