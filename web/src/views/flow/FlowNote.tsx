import { Note } from "../../parts/Note";
import { useStore } from "../../state/store";
import type { Subject } from "../../state/subject";

export function FlowNote({ subject }: { subject: Subject }) {
  const draw = useStore((state) => state.draw);
  const { measure } = subject;
  return (
    <Note
      formula={`${measure.title}: ${measure.formula}`}
      paper={`${measure.paper}. Flows after DeRose et al. 2020, Attention Flows (VIS).`}
    >
      <p>
        The graph is traced back from the target: a token passes if, for at least one head, its share of what a reached
        token takes in is at the threshold or above. What passes is traced on, layer by layer, down to the words.
      </p>
      {draw === "rings" ? (
        <p>
          Each ring is a layer, the first one outermost; a word keeps its angle. A sector is tinted by its influence and
          by which model reaches it. In it, one cell for each head: left half A and right half B where both use the
          word, a whole cell where one does; the deeper, the stronger, and outlined the strongest in the ring. The two
          lines are how much each word receives, up to the most that a word receives in this ring; special tokens often
          receive many times that, and their lines go off the end.
        </p>
      ) : (
        <p>
          The target’s whole is divided among the tokens it draws on, in proportion to their shares, and theirs again,
          down to the words. A bar’s left half is A and its right half B.
        </p>
      )}
      <p>
        Influence I of a token v: I(v) = c(v) + ½ Σ I(u) over the u that draw on it, c(v) being how many heads and
        tokens draw on it. The paper’s own formula is not public; this one is ours.
      </p>
      <p>{measure.summary}</p>
    </Note>
  );
}
