import { useParcel } from "../api/queries";
import type { Answer, Choice, Slot } from "../api/types";
import { briefly } from "../parts/caption";
import { Popover } from "../parts/Popover";
import type { Subject } from "../state/subject";

/** What each model answers to the text: its best guess, and on asking the others. */
export function Answers({ subject }: { subject: Subject }) {
  return (
    <ul className="answers" aria-label="Models and their answers">
      {subject.slots.map((slot) => (
        <li key={slot}>
          <OneAnswer subject={subject} slot={slot} />
        </li>
      ))}
    </ul>
  );
}

function OneAnswer({ subject, slot }: { subject: Subject; slot: Slot }) {
  const { text, pair, models } = subject;
  const { data, error, stale } = useParcel<Answer>("answer", text.trim() ? { slot, text, pair } : null);
  const model = models[slot];
  if (!model) return null;
  const answer = error ? undefined : data?.artifact;
  return (
    <div className="answer" data-stale={stale || undefined}>
      <b className={`badge badge-${slot}`}>{slot.toUpperCase()}</b>
      <span className="model-name" title={`${model.name} · ${model.architecture}`}>
        {briefly(model.name)}
      </span>
      {answer && answer.choices.length > 0 && (
        <Popover
          button={<Best choice={answer.choices[0]!} slot={slot} />}
          label={`Model ${slot.toUpperCase()} answers ${answer.choices[0]!.label}; show all answers`}
        >
          <Choices answer={answer} slot={slot} />
        </Popover>
      )}
      {answer && answer.choices.length === 0 && (
        <span className="small soft" title={answer.reason ?? undefined}>
          makes no decision
        </span>
      )}
    </div>
  );
}

function Best({ choice, slot }: { choice: Choice; slot: Slot }) {
  return (
    <span className={`best in-${slot}`}>
      {choice.label} <span className="numbers">{written(choice)}</span>
    </span>
  );
}

function Choices({ answer, slot }: { answer: Answer; slot: Slot }) {
  return (
    <table className="choices">
      <caption className="small soft">
        {answer.task === "classes"
          ? "The model decides between"
          : `What the model expects${answer.task === "masked" ? " at the mask" : " next"}`}
      </caption>
      <thead className="unseen">
        <tr>
          <th>answer</th>
          <th>share</th>
          <th>probability</th>
          <th>logit</th>
        </tr>
      </thead>
      <tbody>
        {answer.choices.map((choice) => (
          <tr key={choice.name}>
            <th scope="row">{choice.label}</th>
            <td className="bar">
              <svg width="80" height="8" aria-hidden="true">
                <rect width={80 * (choice.probability ?? 0)} height="8" rx="1" fill={`var(--${slot})`} />
              </svg>
            </td>
            <td className="numbers">{written(choice)}</td>
            <td className="numbers soft">{choice.logit.toFixed(2)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function written({ probability, logit }: Choice): string {
  if (probability === null || probability === undefined) return logit.toFixed(2);
  const shown = probability * 100;
  return `${shown >= 99.95 ? "> 99.9" : shown < 0.05 ? "< 0.1" : shown.toFixed(1)} %`;
}
