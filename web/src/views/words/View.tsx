import { type KeyboardEvent, type PointerEvent, useMemo, useRef } from "react";
import { isKept } from "../../api/kept";
import type { Parcel } from "../../api/parcel";
import { together, useParcel } from "../../api/queries";
import type { Answer, Choice, Slot, Words } from "../../api/types";
import { usePalette } from "../../design/theme";
import type { Cell } from "../../export/csv";
import { captionOf, scientific } from "../../parts/caption";
import { ExportMenu } from "../../parts/ExportMenu";
import { Note } from "../../parts/Note";
import { Segmented } from "../../parts/Segmented";
import { Failed, Working } from "../../parts/States";
import { UnitChooser } from "../../parts/UnitChooser";
import { useSize } from "../../parts/useSize";
import { ViewFrame } from "../../parts/ViewFrame";
import { useStore } from "../../state/store";
import type { Subject } from "../../state/subject";
import type { ViewProps } from "..";
import { measured } from "../flow/lettering";
import { LOGIT, SHOWN } from "../flow/options";
import { Faithful, titleOf } from "./Faithful";
import { barsLayout, rowAt, textLayout, wordAt } from "./layout";
import { signedNumber, WordMarks } from "./Marks";
import { COLUMNS, profileOf, type Rows, rowsOf } from "./rows";
import "../../parts/details.css";
import "./words.css";

export default function WordsView({ subject }: ViewProps) {
  const { text, pair, unit, slots, models } = subject;
  const target = useStore((state) => state.target);
  const method = useStore((state) => state.method);
  const show = useStore((state) => state.show);
  const order = useStore((state) => state.order);
  const received = useStore((state) => state.received);
  const known = subject.session.methods.find(({ name }) => name === method) ?? subject.session.methods[0]!;
  // Two classifiers are asked about the same class: the one that is chosen, or that the last one shown predicts.
  const judge: Slot = models.b?.has_logits && !(show === "a" && models.a.has_logits) ? "b" : "a";
  const answer = useParcel<Answer>("answer", { slot: judge, text, pair });
  const chosen = target?.startsWith(LOGIT) ? target.slice(LOGIT.length) : null;
  const predicted = answer.data?.artifact.choices[0]?.name ?? null;
  const asked = chosen || predicted;
  const request = (slot: Slot) => {
    const { classes } = models[slot]!;
    const has = asked !== null && (classes.includes(asked) || (classes.length === 0 && slot === judge && chosen));
    return { slot, text, pair, unit, method: known.name, target: has ? asked : null };
  };
  const ready = answer.data !== undefined && !answer.stale;
  const a = useParcel<Words>("words", ready ? request("a") : null);
  const b = useParcel<Words>("words", ready && slots.includes("b") ? request("b") : null);
  const words = useMemo(
    () => ({ ...(a.data && !a.error && { a: a.data }), ...(b.data && !b.error && { b: b.data }) }),
    [a.data, a.error, b.data, b.error],
  );
  const found = useMemo(() => rowsOf({ words, show, received, order }), [words, show, received, order]);
  const error = found ? null : (answer.error ?? a.error ?? b.error);
  const under = together(answer, a, b);
  const choose = useStore((state) => state.choose);
  const choices = answer.data?.artifact.choices ?? [];
  const controls = (
    <>
      <Explained {...{ choices, chosen, asked }} />
      {choices.length > 0 && (
        <label className="field" title={known.summary}>
          <h3>Method</h3>
          <select value={known.name} onChange={(event) => choose({ method: event.target.value })}>
            {subject.session.methods.map(({ name }) => (
              <option key={name} value={name}>
                {titleOf(name, subject.session.methods)}
              </option>
            ))}
          </select>
        </label>
      )}
      {slots.length > 1 && (
        <Segmented label="Models" value={show} options={SHOWN} onChange={(value) => choose({ show: value })} />
      )}
      <Segmented
        label="Attention"
        value={received}
        options={[
          { value: "all", label: "All layers", title: "What a word receives, mean over queries, heads and layers" },
          { value: "last", label: "At the end", title: "What the deciding token gives it in the last layer" },
        ]}
        onChange={(value) => choose({ received: value })}
      />
      <Segmented
        label="Order"
        value={order}
        options={[
          { value: "text", label: "As written" },
          { value: "size", label: "By size" },
        ]}
        onChange={(value) => choose({ order: value })}
      />
      <UnitChooser subject={subject} />
    </>
  );
  if (error || !found) {
    return (
      <ViewFrame controls={controls} caption="Words">
        {error ? (
          <Failed error={error} onRetry={under.retry} />
        ) : (
          <Working what="Tracing the decision back to the words" steps={under.steps} onCancel={under.cancel} />
        )}
      </ViewFrame>
    );
  }
  const failed = a.error ?? b.error;
  const caption = captionOf(
    `Contribution (${titleOf(known.name, subject.session.methods)}), weight α and attention norm`,
    Object.fromEntries(Object.entries(words).map(([slot, parcel]) => [slot, parcel.artifact])),
    `${found.rows.length} ${unit}s`,
  );
  return (
    <Loaded
      {...{ subject, found, words, controls, caption, judge, received }}
      formula={known.signed ? "logit = Σₖ contributionₖ + bias" : "a rank for each word"}
      summary={known.summary}
      paper={known.paper}
      method={known.name}
      problem={failed?.message ?? null}
      stale={a.stale || b.stale || answer.stale}
    />
  );
}

interface ExplainedProps {
  choices: readonly Choice[];
  chosen: string | null;
  asked: string | null;
}

const FEW = 3;

/** Which of the possible answers is explained. */
function Explained({ choices, chosen, asked }: ExplainedProps) {
  const choose = useStore((state) => state.choose);
  if (!choices.length || asked === null) return null;
  const options = choices.map(({ name, label }) => ({ value: name, label }));
  if (chosen && !choices.some(({ name }) => name === chosen)) options.unshift({ value: chosen, label: chosen });
  const pick = (value: string) => choose({ target: LOGIT + value });
  if (options.length <= FEW && options.every(({ label }) => label.length < 14)) {
    const ordered = options.toSorted((one, other) => one.value.localeCompare(other.value));
    return <Segmented label="Explain" value={asked} options={ordered} onChange={pick} />;
  }
  return (
    <label className="field">
      <h3>Explain</h3>
      <select value={asked} onChange={(event) => pick(event.target.value)}>
        {options.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

interface LoadedProps {
  subject: Subject;
  found: Rows;
  words: Partial<Record<Slot, Parcel<Words>>>;
  controls: React.ReactNode;
  caption: string;
  judge: Slot;
  received: "all" | "last";
  formula: string;
  summary: string;
  paper: string;
  method: string;
  problem: string | null;
  stale: boolean;
}

function Loaded({ subject, found, words, controls, caption, judge, received, stale, ...about }: LoadedProps) {
  const palette = usePalette();
  const choose = useStore((state) => state.choose);
  const point = useStore((state) => state.point);
  const word = useStore((state) => state.word);
  const hover = useStore((state) => state.hover);
  const svg = useRef<SVGSVGElement>(null);
  const [ref, size] = useSize<HTMLDivElement>();
  const width = Math.max(size.width, 320);
  const { texts, bars } = useMemo(() => {
    let top = 4;
    const texts = found.series.contribution.map((series) => {
      const one = textLayout(found, series, width, top, measured);
      top += one.height + 4;
      return one;
    });
    const widest = Math.max(...found.rows.map(({ name }) => measured(name, 12)), 40);
    return { texts, bars: barsLayout(found, width, top + 8, widest) };
  }, [found, width]);
  const height = bars.top + bars.height;
  const strong = hover?.word ?? word;
  const at = (event: PointerEvent<SVGSVGElement> | React.MouseEvent<SVGSVGElement>): string | null => {
    const box = event.currentTarget.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    for (const text of texts) {
      const label = wordAt(text, x, y)?.row.label;
      if (label) return label;
    }
    const row = rowAt(bars, found.rows.length, y);
    return row === null ? null : found.rows[row]!.label;
  };
  const press = (event: KeyboardEvent<SVGSVGElement>) => {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const here = found.rows.findIndex(({ label }) => label === word);
    const next = found.rows[here < 0 ? 0 : (here + by + found.rows.length) % found.rows.length]!;
    choose({ word: next.label }, { quiet: true });
  };
  const selected = found.rows.find(({ label }) => label === strong);
  return (
    <ViewFrame
      controls={controls}
      caption={caption}
      tools={
        <>
          <Note formula={about.formula} paper={about.paper}>
            <p>{about.summary}</p>
            <p>
              Bars to the right, and above the words, speak for the answer; hatched ones to the left, and below the
              words, against it. Beside them stands the attention that a word gets: by weight, and by the length of what
              the weight brings.
            </p>
          </Note>
          <ExportMenu
            name="attnscope-words"
            caption={caption}
            drawing={() => svg.current}
            table={() => tableOf(found)}
          />
        </>
      }
      aside={
        <div className="details">
          <AddsUp found={found} problem={about.problem} />
          {selected ? (
            <Profile words={words} place={selected.place} name={selected.name} />
          ) : (
            <section>
              <h2>Layer by layer</h2>
              <p className="small soft">Point at a word to see what it receives in each layer.</p>
            </section>
          )}
          {isKept("faithfulness") && words[judge]?.artifact.target != null && (
            <section>
              <h2>
                Can it be trusted?{" "}
                <span className={`in-${judge}`}>{subject.slots.length > 1 && judge.toUpperCase()}</span>
              </h2>
              <Faithful
                subject={subject}
                slot={judge}
                method={about.method}
                titles={subject.session.methods}
                onMethod={(method) => choose({ method })}
              />
            </section>
          )}
        </div>
      }
    >
      <div className="words" ref={ref} data-stale={stale || undefined}>
        {size.width > 0 && (
          <svg
            ref={svg}
            viewBox={`0 0 ${width} ${height}`}
            width={width}
            height={height}
            role="application"
            aria-label={labelOf(found)}
            tabIndex={0}
            onPointerMove={(event) => {
              const label = at(event);
              point(label === null ? null : { word: label });
            }}
            onPointerLeave={() => point(null)}
            onClick={(event) => {
              const label = at(event);
              choose({ word: label === word ? null : label });
            }}
            onKeyDown={press}
          >
            <WordMarks {...{ found, texts, bars, palette, strong, received, width }} measure={measured} />
          </svg>
        )}
      </div>
    </ViewFrame>
  );
}

function labelOf(found: Rows): string {
  const [decision] = found.decisions;
  if (!decision) return "What attention each word gets. Arrow keys go from word to word.";
  const best = found.rows
    .toSorted(
      (one, other) => (other.values.contribution[decision.slot] ?? 0) - (one.values.contribution[decision.slot] ?? 0),
    )
    .slice(0, 3)
    .map((row) => `${row.name} ${signedNumber(row.values.contribution[decision.slot] ?? 0, true)}`);
  return `What each word adds to ${decision.target}; most: ${best.join(", ")}. Arrow keys go from word to word.`;
}

/** Words and biases come to the logit; what is left over is the error. */
function AddsUp({ found, problem }: { found: Rows; problem: string | null }) {
  return (
    <section>
      <h2>{found.signed && found.decisions.length ? "It adds up" : "What is shown"}</h2>
      {found.decisions.map(({ slot, sum, bias, value, error, target, probability }) => (
        <p key={slot} className="numbers">
          {found.decisions.length > 1 && <b className={`in-${slot}`}>{slot.toUpperCase()} </b>}
          {bias === null ? (
            <>The method ranks words; its numbers don’t add up to anything.</>
          ) : (
            <>
              {signedNumber(sum, false)} from the words and {signedNumber(bias, false)} from the biases are{" "}
              <b>{signedNumber(value, false)}</b>, the logit of <b>{target}</b>
              {probability !== null && <> ({(probability * 100).toFixed(1)} %)</>}.
              {error !== null && <span className="soft"> Left over: {scientific(error)} of it.</span>}
            </>
          )}
        </p>
      ))}
      {[...found.notes, ...(problem ? [problem] : [])].map((note) => (
        <p key={note} className="small soft">
          {note}
        </p>
      ))}
    </section>
  );
}

const PROFILE = { width: 200, height: 64 };

/** What a word receives in each layer: by weight a line, by norm a dashed one. */
function Profile({ words, place, name }: { words: LoadedProps["words"]; place: number; name: string }) {
  const palette = usePalette();
  const lines = (["a", "b"] as const).flatMap((slot) => {
    const parcel = words[slot];
    if (!parcel || place >= parcel.artifact.tokens.labels.length) return [];
    return (["weight", "norm"] as const).map((how) => ({ slot, how, values: profileOf(parcel, how, place) }));
  });
  const most = Math.max(...lines.flatMap(({ values }) => [...values]), 1e-6);
  const count = Math.max(...lines.map(({ values }) => values.length));
  const x = (layer: number) => (count > 1 ? (layer / (count - 1)) * PROFILE.width : PROFILE.width / 2);
  const y = (value: number) => PROFILE.height - (value / most) * PROFILE.height;
  return (
    <section>
      <h2>
        Layer by layer: <span className="mono">{name}</span>
      </h2>
      <svg
        viewBox={`-36 -8 ${PROFILE.width + 84} ${PROFILE.height + 28}`}
        width="100%"
        fontSize={10}
        fill={palette.soft}
        role="img"
        aria-label={`The share that ${name} receives, by layer`}
      >
        <line x2={PROFILE.width} y1={PROFILE.height} y2={PROFILE.height} stroke={palette.rule} />
        <text x={-6} y={4} textAnchor="end" style={{ fontVariantNumeric: "tabular-nums" }}>
          {(most * 100).toFixed(most < 0.1 ? 1 : 0)} %
        </text>
        <text x={-6} y={PROFILE.height + 3} textAnchor="end">
          0
        </text>
        {[0, count - 1].map((layer) => (
          <text key={layer} x={x(layer)} y={PROFILE.height + 14} textAnchor="middle">
            {layer + 1}
          </text>
        ))}
        <text x={PROFILE.width / 2} y={PROFILE.height + 14} textAnchor="middle">
          layer
        </text>
        {lines.map(({ slot, how, values }) => (
          <path
            key={slot + how}
            d={`M${[...values].map((value, layer) => `${x(layer).toFixed(1)} ${y(value).toFixed(1)}`).join("L")}`}
            fill="none"
            stroke={palette[slot]}
            strokeWidth={1.6}
            strokeDasharray={how === "norm" ? "2 3" : undefined}
          />
        ))}
        {ends(lines, y).map(({ slot, how, at }) => (
          <text key={slot + how} x={PROFILE.width + 6} y={at + 3} fill={palette[slot]}>
            {slot.toUpperCase()} {how}
          </text>
        ))}
      </svg>
    </section>
  );
}

/** Where the lines' names stand: at their ends, and clear of each other. */
function ends<T extends { values: Float32Array }>(
  lines: readonly T[],
  y: (value: number) => number,
): (T & { at: number })[] {
  const placed = lines
    .map((line) => ({ ...line, at: y(line.values.at(-1) ?? 0) }))
    .sort((one, other) => one.at - other.at);
  for (let place = 1; place < placed.length; place++) {
    placed[place]!.at = Math.max(placed[place]!.at, placed[place - 1]!.at + 11);
  }
  const over = Math.max(0, (placed.at(-1)?.at ?? 0) - PROFILE.height - 4);
  for (let place = placed.length - 1; place >= 0; place--) {
    const limit = place === placed.length - 1 ? Number.POSITIVE_INFINITY : placed[place + 1]!.at - 11;
    placed[place]!.at = Math.min(placed[place]!.at - (place === placed.length - 1 ? over : 0), limit);
  }
  return placed;
}

function tableOf(found: Rows) {
  const columns = COLUMNS.flatMap((column) => found.series[column].map((series) => [column, series] as const));
  const rows: Cell[][] = found.rows.map((row) => [
    row.label,
    ...columns.map(([column, series]) => row.values[column][series] ?? null),
  ]);
  for (const { slot, bias } of found.decisions) {
    if (bias !== null) {
      rows.push([
        `(bias ${slot.toUpperCase()})`,
        ...columns.map(([column, series]) => (column === "contribution" && series === slot ? bias : null)),
      ]);
    }
  }
  return { header: ["word", ...columns.map(([column, series]) => `${column}_${series}`)], rows };
}
