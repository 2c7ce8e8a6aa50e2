import { Popover } from "../parts/Popover";
import { startAgain, useStore } from "../state/store";
import type { Subject } from "../state/subject";
import { stepsFor, storyStep } from "./Story";

const SHORTCUTS: readonly (readonly [string, string])[] = [
  ["/", "go to the text"],
  ["Enter", "read the text (Shift-Enter: new line)"],
  ["1 – 9", "choose a view"],
  ["← →", "next word, in a drawing"],
  ["+ − 0", "zoom in, out, back, in a drawing"],
  ["Esc", "let the selected word go"],
  ["Alt ←", "undo (the browser’s back)"],
];

/** Where the story comes back from, and what the keys do. */
export function Help({ subject }: { subject: Subject }) {
  const choose = useStore((state) => state.choose);
  return (
    <Popover button="?" label="Help" className="icon" align="end">
      {(close) => (
        <div className="help">
          <ul className="menu">
            <li>
              <button
                type="button"
                className="quiet"
                onClick={() => {
                  choose(storyStep(stepsFor(subject), 1));
                  close();
                }}
              >
                Show the introduction
              </button>
            </li>
            <li>
              <button
                type="button"
                className="quiet"
                onClick={() => {
                  startAgain();
                  close();
                }}
              >
                Start again from the beginning
              </button>
            </li>
          </ul>
          <h3>Keys</h3>
          <dl className="keys">
            {SHORTCUTS.map(([key, what]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </div>
      )}
    </Popover>
  );
}
