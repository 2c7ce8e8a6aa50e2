import type { ReactNode } from "react";

/** Behind what a caption may break. */
const BREAKS = /(?<= · |, )/;

interface Props {
  /** What is asked for, and how: the controls at the left. */
  controls?: ReactNode;
  /** Which measure, which model, which error: parts with dots between them, as `captionOf` gives them. */
  caption: string;
  /** The way back from here. */
  back?: ReactNode;
  /** What belongs beside the caption: the note, the export. */
  tools?: ReactNode;
  /** Details at the right. */
  aside?: ReactNode;
  children: ReactNode;
}

/** How every view is laid out: controls, the drawing with its caption, details. */
export function ViewFrame({ controls, caption, back, tools, aside, children }: Props) {
  return (
    <div className="view-frame" data-aside={aside ? "" : undefined} data-controls={controls ? "" : undefined}>
      {controls && (
        <section className="view-controls" aria-label="Controls">
          <h2 className="unseen">Controls</h2>
          {controls}
        </section>
      )}
      <section className="view-main" aria-label="Drawing">
        <div className="view-caption">
          <p className="small soft">
            {back}
            {caption.split(BREAKS).map((part) => (
              <span key={part}>{part}</span>
            ))}
          </p>
          <div className="view-tools">{tools}</div>
        </div>
        <div className="view-body">{children}</div>
      </section>
      {aside && (
        <aside className="view-aside" aria-label="Details">
          {aside}
        </aside>
      )}
    </div>
  );
}
