import { type FormEvent, useId, useMemo, useRef, useState } from "react";
import type { Parcel } from "../../api/parcel";
import { useParcel } from "../../api/queries";
import type { Search, Slot } from "../../api/types";
import { usePalette } from "../../design/theme";
import type { Cell } from "../../export/csv";
import { captionOf } from "../../parts/caption";
import { ExportMenu } from "../../parts/ExportMenu";
import { Note } from "../../parts/Note";
import { percent } from "../../parts/numbers";
import { Segmented } from "../../parts/Segmented";
import { Empty, Failed, Working } from "../../parts/States";
import { useSize } from "../../parts/useSize";
import { ViewFrame } from "../../parts/ViewFrame";
import { useDragging } from "../../state/dragging";
import { useStore } from "../../state/store";
import type { Subject } from "../../state/subject";
import type { ViewProps } from "..";
import { plain } from "../flow/groups";
import { Counts } from "./Counts";
import { around, countsOf, type Hit, hitsOf } from "./hits";
import "../../parts/details.css";
import "./search.css";

const MEASURE = "weight";

export default function SearchView({ subject }: ViewProps) {
  const find = useStore((state) => state.find);
  const least = useStore((state) => state.least);
  const direction = useStore((state) => state.direction);
  const where = useStore((state) => state.where);
  const show = useStore((state) => state.show);
  const { text, pair, slots, session } = subject;
  const slot: Slot = show === "b" && slots.includes("b") ? "b" : "a";
  // The word is looked for as it is asked; the slider's own steps are not.
  const measure = subject.measure.per_head ? subject.measure.name : MEASURE;
  const inCorpus = where === "corpus" && session.corpus !== null;
  const found = useParcel<Search>(
    "search",
    find?.trim() && least > 0
      ? {
          slot,
          text,
          pair,
          word: find.trim(),
          measure,
          threshold: least,
          direction,
          where: inCorpus ? "corpus" : "text",
        }
      : null,
  );
  const controls = <Controls subject={subject} slot={slot} />;
  if (!find?.trim()) {
    return (
      <ViewFrame controls={controls} caption="Search">
        <Empty title="Which heads look at a word?">
          <p>Write a word, or choose one of this text:</p>
          <Suggestions subject={subject} />
        </Empty>
      </ViewFrame>
    );
  }
  if (found.error || !found.data) {
    return (
      <ViewFrame controls={controls} caption="Search">
        {found.error ? (
          <Failed error={found.error} onRetry={found.retry} />
        ) : (
          <Working
            what={inCorpus ? `Reading ${session.corpus!.name}` : "Reading the maps"}
            steps={found.steps}
            onCancel={found.cancel}
          />
        )}
      </ViewFrame>
    );
  }
  if (found.data.artifact.with_word === 0) {
    const { artifact } = found.data;
    const { word, searched } = artifact;
    return (
      <ViewFrame controls={controls} caption="Search">
        <Empty title={`“${word}” is not in ${inCorpus ? `any of the ${searched} texts` : "this text"}`}>
          <p>{unreadOf(artifact)} Choose one of these words, or write another:</p>
          <Suggestions subject={subject} />
        </Empty>
      </ViewFrame>
    );
  }
  return (
    <Found
      parcel={found.data}
      {...{ subject, slot, controls }}
      stale={found.stale}
      measureTitle={session.measures.find(({ name }) => name === measure)?.title ?? measure}
      formula={session.measures.find(({ name }) => name === measure)?.formula}
    />
  );
}

function Controls({ subject, slot }: { subject: Subject; slot: Slot }) {
  const choose = useStore((state) => state.choose);
  const find = useStore((state) => state.find);
  const least = useStore((state) => state.least);
  const direction = useStore((state) => state.direction);
  const where = useStore((state) => state.where);
  const id = useId();
  const [draft, setDraft] = useState(find ?? "");
  const [last, setLast] = useState(find);
  if (find !== last) {
    setLast(find);
    setDraft(find ?? "");
  }
  const { drag, end } = useDragging();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    choose({ find: draft.trim() || null });
  };
  const { corpus } = subject.session;
  return (
    <>
      <form className="field" role="search" onSubmit={submit}>
        <label htmlFor={`${id}-word`}>
          <h3>Word</h3>
        </label>
        <div className="find">
          <input
            id={`${id}-word`}
            type="search"
            value={draft}
            placeholder="not"
            autoComplete="off"
            onChange={(event) => setDraft(event.target.value)}
          />
          <button type="submit">Find</button>
        </div>
      </form>
      <Segmented
        label="Heads that look"
        value={direction}
        options={[
          { value: "to", label: "at the word", title: "Other words take from it" },
          { value: "from", label: "from the word", title: "It takes from other words" },
        ]}
        onChange={(value) => choose({ direction: value })}
      />
      <div className="field">
        <label htmlFor={`${id}-least`} className="label-row">
          <h3>with at least</h3>
          <output className="numbers">{percent(least)}</output>
        </label>
        <input
          id={`${id}-least`}
          className="plain-range"
          type="range"
          min={1}
          max={100}
          value={Math.round(least * 100)}
          aria-valuetext={percent(least)}
          onChange={(event) => drag({ least: Number(event.target.value) / 100 })}
          onPointerUp={end}
          onKeyUp={end}
          onBlur={end}
        />
        <p className="small soft">of what a head takes in for one word</p>
      </div>
      {subject.slots.length > 1 && (
        <Segmented
          label="Model"
          value={slot}
          options={[
            { value: "a", label: "A", title: subject.models.a.name },
            { value: "b", label: "B", title: subject.models.b?.name ?? "" },
          ]}
          onChange={(value) => choose({ show: value })}
        />
      )}
      {corpus && (
        <Segmented
          label="In"
          value={where}
          options={[
            { value: "text", label: "this text" },
            { value: "corpus", label: `${corpus.texts} texts`, title: corpus.name },
          ]}
          onChange={(value) => choose({ where: value })}
        />
      )}
    </>
  );
}

/** The words of the text, as buttons. */
function Suggestions({ subject }: { subject: Subject }) {
  const choose = useStore((state) => state.choose);
  const selected = useStore((state) => state.word);
  const words = useMemo(() => {
    const found = subject.text.match(/[\p{L}\p{N}][\p{L}\p{N}’'-]*/gu) ?? [];
    return [...new Set(found)].slice(0, 24);
  }, [subject.text]);
  return (
    <p className="suggestions">
      {words.map((word) => (
        <button
          key={word}
          type="button"
          className="quiet"
          aria-pressed={selected !== null && plain(selected) === word}
          onClick={() => choose({ find: word })}
        >
          {word}
        </button>
      ))}
    </p>
  );
}

interface FoundProps {
  parcel: Parcel<Search>;
  subject: Subject;
  slot: Slot;
  controls: React.ReactNode;
  stale: boolean;
  measureTitle: string;
  formula: string | undefined;
}

const PAGE = 100;

function Found({ parcel, subject, slot, controls, stale, measureTitle, formula }: FoundProps) {
  const palette = usePalette();
  const { artifact } = parcel;
  const [only, setOnly] = useState<readonly [number, number | null] | null>(null);
  const [shown, setShown] = useState(PAGE);
  const hits = useMemo(() => hitsOf(parcel), [parcel]);
  const counts = useMemo(() => countsOf(parcel), [parcel]);
  const svg = useRef<SVGSVGElement>(null);
  const [ref, { width }] = useSize<HTMLDivElement>();
  const kept = only ? hits.filter(({ layer, head }) => layer === only[0] && head === only[1]) : hits;
  const caption = captionOf(
    `${artifact.direction === "to" ? "Looking at" : "Looking from"} “${artifact.word}” with at least ${percent(artifact.threshold)} by ${measureTitle}`,
    { [slot]: artifact },
    artifact.where === "corpus" ? `${artifact.searched} texts` : undefined,
  );
  return (
    <ViewFrame
      controls={controls}
      caption={caption}
      tools={
        <>
          <Note formula={formula && `p = ${formula}, as a share of the row;  p ≥ ${artifact.threshold}`}>
            <p>
              Every place where a head gives the word at least this share of what it takes in
              {artifact.direction === "to" ? "" : ", seen from the word"}. Pieces of a word count together. The matrix
              counts them by head; the list has the strongest, and leads to each head.
            </p>
          </Note>
          <ExportMenu
            name={`attnscope-search-${artifact.word.replace(/[^\p{L}\p{N}]+/gu, "") || "word"}`}
            caption={caption}
            drawing={() => svg.current}
            table={() => tableOf(artifact, hits)}
          />
        </>
      }
    >
      <div className="search" ref={ref} data-stale={stale || undefined}>
        <p className="summary">{summaryOf(artifact)}</p>
        {artifact.hits > 0 && (
          <>
            {width > 0 && (
              <Counts
                svg={svg}
                {...{ artifact, counts, palette, width, slot, only }}
                onChoose={(next) => {
                  setOnly(next);
                  setShown(PAGE);
                }}
              />
            )}
            <Hits
              hits={kept.slice(0, shown)}
              {...{ artifact, slot, subject }}
              title={
                only
                  ? `Layer ${only[0]}${only[1] ? `, head ${only[1]}` : ""}: ${kept.length} of the ${hits.length} strongest`
                  : artifact.truncated
                    ? `The ${hits.length} strongest of ${artifact.hits}`
                    : "All of them, the strongest first"
              }
              onAll={only ? () => setOnly(null) : undefined}
            />
            {kept.length > shown && (
              <button type="button" className="more" onClick={() => setShown(shown + PAGE)}>
                Show {Math.min(PAGE, kept.length - shown)} more
              </button>
            )}
          </>
        )}
      </div>
    </ViewFrame>
  );
}

/** What the model could not read. */
function unreadOf({ unread, why_unread }: Search): string {
  if (!unread) return "";
  const texts = unread === 1 ? "One text was" : `${unread.toLocaleString("en")} texts were`;
  return `${texts} left out: ${why_unread}${unread === 1 ? "" : ", for example"}.`;
}

function summaryOf(artifact: Search): string {
  const { hits, word, threshold, direction, where, searched, with_word } = artifact;
  const times = hits === 0 ? "Nowhere" : hits === 1 ? "Once" : `${hits.toLocaleString("en")} times`;
  const said =
    direction === "to"
      ? `a head takes at least ${percent(threshold)} of what it takes in from “${word}”`
      : `a head that looks from “${word}” takes at least ${percent(threshold)} from one word`;
  const texts = where === "corpus" ? `, in ${with_word} of ${searched} texts that have the word` : "";
  return [`${times} ${said}${texts}.`, hits === 0 && "Try a smaller share.", unreadOf(artifact)]
    .filter(Boolean)
    .join(" ");
}

interface HitsProps {
  hits: readonly Hit[];
  artifact: Search;
  subject: Subject;
  slot: Slot;
  title: string;
  onAll: (() => void) | undefined;
}

/** One row for each place; each leads to the head, and to the flow, as it is there. */
function Hits({ hits, artifact, subject, slot, title, onAll }: HitsProps) {
  const choose = useStore((state) => state.choose);
  const jump = (hit: Hit, view: "heads" | "flow") => {
    const text = artifact.texts[hit.text]!;
    choose({
      view,
      ...(artifact.where === "corpus" && { text: text.text, pair: text.pair }),
      unit: artifact.unit,
      show: subject.slots.length > 1 ? slot : "both",
      word: artifact.direction === "to" ? hit.key : hit.query,
      ...(view === "heads" && hit.head !== null && { head: [hit.layer, hit.head] as const }),
      ...(view === "flow" && {
        measure: artifact.measure,
        reading: "direct" as const,
        layers: [1, hit.layer] as const,
        heads: hit.head === null ? null : [hit.head],
        target: hit.query,
        threshold: artifact.threshold,
      }),
    });
  };
  const corpus = artifact.where === "corpus";
  return (
    <section className="hits" data-corpus={artifact.where === "corpus" || undefined}>
      <div className="label-row">
        <h2>{title}</h2>
        {onAll && (
          <button type="button" className="link" onClick={onAll}>
            show all heads
          </button>
        )}
      </div>
      <table>
        <thead>
          <tr>
            <th scope="col">share</th>
            <th scope="col">head</th>
            <th scope="col">who looks</th>
            <th scope="col">at whom</th>
            {corpus && <th scope="col">where</th>}
            <th scope="col">
              <span className="unseen">open in</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {hits.map((hit, row) => (
            <tr key={row}>
              <td className="numbers share">
                <svg width="48" height="8" aria-hidden="true">
                  <rect width={48 * hit.share} height="8" fill={`var(--${slot})`} />
                </svg>
                {percent(hit.share)}
              </td>
              <td className="numbers">{hit.head === null ? `layer ${hit.layer}` : `${hit.layer}-${hit.head}`}</td>
              <td data-word={artifact.direction === "from" || undefined}>{plain(hit.query)}</td>
              <td data-word={artifact.direction === "to" || undefined}>{plain(hit.key)}</td>
              {corpus && (
                <td className="context small">
                  <Context labels={artifact.texts[hit.text]!.tokens.labels} place={hit.keyPlace} />
                </td>
              )}
              <td className="jumps">
                {hit.head !== null && (
                  <button type="button" className="link" onClick={() => jump(hit, "heads")}>
                    Head
                  </button>
                )}
                <button type="button" className="link" onClick={() => jump(hit, "flow")}>
                  Flow
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Context({ labels, place }: { labels: readonly string[]; place: number }) {
  const [before, word, after] = around(labels.map(plain), place);
  return (
    <>
      <span className="soft">{before}</span> <b>{word}</b> <span className="soft">{after}</span>
    </>
  );
}

function tableOf(artifact: Search, hits: readonly Hit[]) {
  const rows = hits.map((hit): Cell[] => [
    artifact.texts[hit.text]!.text,
    hit.layer,
    hit.head,
    hit.query,
    hit.key,
    hit.share,
  ]);
  return { header: ["text", "layer", "head", "query", "key", "share"], rows };
}
