import { useCallback, useMemo, useRef, useState } from "react";
import type { Parcel } from "../../api/parcel";
import { together, useParcel } from "../../api/queries";
import type { Change, Heads, Slot } from "../../api/types";
import { usePalette } from "../../design/theme";
import type { Cell } from "../../export/csv";
import { captionOf } from "../../parts/caption";
import { ExportMenu } from "../../parts/ExportMenu";
import { Note } from "../../parts/Note";
import { Segmented } from "../../parts/Segmented";
import { Empty, Failed, Working } from "../../parts/States";
import { Tooltip } from "../../parts/Tooltip";
import { UnitChooser } from "../../parts/UnitChooser";
import { useSize } from "../../parts/useSize";
import { ViewFrame } from "../../parts/ViewFrame";
import { useStore } from "../../state/store";
import type { Subject } from "../../state/subject";
import type { ViewProps } from "..";
import { SHOWN } from "../flow/options";
import { fill, Matrix, written } from "./Matrix";
import { matrixLayout, moved } from "./matrix";
import { OneHead } from "./OneHead";
import { type Panels, panelsOf } from "./panels";
import {
  DIVERGENCE,
  HOW_TITLES,
  HOWS,
  type How,
  roleAt,
  rolesOf,
  SAID,
  type Statistic,
  statistics,
  valuesOf,
} from "./statistics";
import "../../parts/details.css";
import "./heads.css";

export default function HeadsView({ subject }: ViewProps) {
  const { text, pair, unit, slots } = subject;
  const two = slots.length > 1;
  const a = useParcel<Heads>("heads", { slot: "a", text, pair, unit });
  const b = useParcel<Heads>("heads", two ? { slot: "b", text, pair, unit } : null);
  const weight = useParcel<Change>("change", two ? { text, pair, measure: "weight" } : null);
  const stat = useStore((state) => state.stat);
  const norm = useParcel<Change>("change", two && stat === DIVERGENCE ? { text, pair, measure: "head_norm" } : null);
  const heads = useMemo(() => ({ ...(a.data && { a: a.data }), ...(b.data && { b: b.data }) }), [a.data, b.data]);
  const change = useMemo(
    () => ({
      ...(weight.data && !weight.error && { weight: weight.data }),
      ...(norm.data && !norm.error && { norm: norm.data }),
    }),
    [weight.data, weight.error, norm.data, norm.error],
  );
  const open = useStore((state) => state.head);
  const choose = useStore((state) => state.choose);
  const error = a.error ?? b.error;
  const asked = together(a, b);
  const shown = useShown({ subject, heads, change, problem: weight.error?.message ?? null });
  if (error) {
    return (
      <ViewFrame caption="Heads">
        <Failed error={error} onRetry={asked.retry} />
      </ViewFrame>
    );
  }
  if (open) {
    // A head that is open is shown at once, and stays as it is when all heads are known, which stand beside it then.
    return (
      <OneHead
        subject={subject}
        layer={open[0]}
        head={open[1]}
        controls={shown ? shown.besideOne : <Choosing subject={subject} />}
        {...(shown && { aside: shown.aside, onMove: shown.move })}
      />
    );
  }
  if (!shown) {
    return (
      <ViewFrame caption="Heads" controls={<Choosing subject={subject} />}>
        <Working what="Reading all heads" steps={asked.steps} onCancel={asked.cancel} />
      </ViewFrame>
    );
  }
  const { panels, statistic, controls, aside } = shown;
  return (
    <AllHeads
      {...{ subject, heads, panels, statistic, controls, aside, stale: a.stale || b.stale }}
      onOpen={(layer, head) => choose({ head: [layer, head] })}
    />
  );
}

/** Which models, and in which units. */
function Choosing({ subject }: { subject: Subject }) {
  const choose = useStore((state) => state.choose);
  const show = useStore((state) => state.show);
  return (
    <>
      {subject.slots.length > 1 && (
        <Segmented label="Models" value={show} options={SHOWN} onChange={(value) => choose({ show: value })} />
      )}
      <UnitChooser subject={subject} />
    </>
  );
}

interface Known {
  subject: Subject;
  heads: Partial<Record<Slot, Parcel<Heads>>>;
  change: Partial<Record<How, Parcel<Change>>>;
  /** Why the models can't be compared. */
  problem: string | null;
}

/** What is shown of all heads; null until it is known of every model. */
function useShown({ subject, heads, change, problem }: Known) {
  const choose = useStore((state) => state.choose);
  const chosen = useStore((state) => state.stat);
  const show = useStore((state) => state.show);
  const open = useStore((state) => state.head);
  const two = subject.slots.length > 1;
  const first = heads.a && (!two || heads.b) ? heads.a.artifact : null;
  const known = useMemo(() => (first ? statistics(first, two && !problem) : []), [first, two, problem]);
  const statistic = known.find(({ name }) => name === chosen) ?? known[0];
  const panels = useMemo(
    () => (statistic ? panelsOf({ heads, change, statistic, show }) : null),
    [heads, change, statistic, show],
  );
  const move = useCallback(
    (key: string) => {
      if (!open || !first) return;
      const next = moved(
        [first.layers.indexOf(open[0]), first.heads.indexOf(open[1])],
        key,
        first.layers.length,
        first.heads.length,
      );
      choose({ head: [first.layers[next[0]]!, first.heads[next[1]]!] });
    },
    [open, first, choose],
  );
  if (!first || !statistic) return null;
  const controls = (
    <>
      <label className="field">
        <h3>Colour shows</h3>
        <select value={statistic.name} onChange={(event) => choose({ stat: event.target.value })}>
          {[...new Set(known.map(({ group }) => group))].map((group) => (
            <optgroup key={group} label={group}>
              {known
                .filter((one) => one.group === group)
                .map(({ name, title }) => (
                  <option key={name} value={name}>
                    {title}
                  </option>
                ))}
            </optgroup>
          ))}
        </select>
      </label>
      <Choosing subject={subject} />
      <p className="small soft">{statistic.note}</p>
    </>
  );
  const besideOne = (
    <>
      {controls}
      {open && panels && <Overview panels={panels} statistic={statistic} open={open} />}
    </>
  );
  const aside = <Details heads={heads} change={change} open={open} problem={problem} statistic={statistic} />;
  return { panels, statistic, controls, besideOne, aside, move };
}

/** All heads, small, as a way to the next one. */
function Overview({
  panels,
  statistic,
  open,
}: {
  panels: Panels;
  statistic: Statistic;
  open: readonly [number, number];
}) {
  const palette = usePalette();
  const choose = useStore((state) => state.choose);
  const panel = panels.rows[0]?.[0];
  if (!panel) return null;
  const cell = Math.min(18, 208 / panels.heads.length);
  const own = panel.values.length / panel.means.length;
  const [width, height] = [cell * panels.heads.length, cell * panels.layers.length];
  return (
    <div className="field">
      <h3>All heads, {statistic.title.toLowerCase().replace("[cls]", "[CLS]").replace("[sep]", "[SEP]")}</h3>
      {/* The same heads can be reached with Shift and the arrow keys, and by the links at the right. */}
      <svg
        className="overview"
        viewBox={`-1 -1 ${width + 2} ${height + 2}`}
        width={width + 2}
        height={height + 2}
        aria-hidden="true"
        onClick={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const head = panels.heads[Math.floor((event.clientX - box.left - 1) / cell)];
          const layer = panels.layers[Math.floor((event.clientY - box.top - 1) / cell)];
          if (head && layer) choose({ head: [layer, head] });
        }}
      >
        {Array.from(panel.values, (value, place) => (
          <rect
            key={place}
            x={(place % own) * cell + 0.5}
            y={Math.floor(place / own) * cell + 0.5}
            width={cell - 1}
            height={cell - 1}
            fill={fill(panel, value, panels, palette)}
          />
        ))}
        <rect
          x={panels.heads.indexOf(open[1]) * cell}
          y={panels.layers.indexOf(open[0]) * cell}
          width={cell}
          height={cell}
          fill="none"
          stroke={palette.ink}
          strokeWidth={2}
        />
      </svg>
    </div>
  );
}

interface AllProps {
  subject: Subject;
  heads: Known["heads"];
  panels: Panels | null;
  statistic: Statistic;
  controls: React.ReactNode;
  aside: React.ReactNode;
  stale: boolean;
  onOpen: (layer: number, head: number) => void;
}

function AllHeads({ subject, heads, panels, statistic, controls, aside, stale, onOpen }: AllProps) {
  const palette = usePalette();
  const [ref, { width, height }] = useSize<HTMLDivElement>();
  const svg = useRef<SVGSVGElement>(null);
  const [pointed, setPointed] = useState<{ cell: readonly [number, number]; x: number; y: number } | null>(null);
  const layout = useMemo(
    () =>
      panels &&
      matrixLayout({
        width: Math.max(width, 280),
        height: Math.max(height, 400),
        rows: panels.rows.length,
        columns: panels.rows[0]?.length ?? 1,
        layers: panels.layers.length,
        heads: panels.heads.length,
      }),
    [panels, width, height],
  );
  const artifacts = Object.fromEntries(Object.entries(heads).map(([slot, parcel]) => [slot, parcel.artifact]));
  const caption = captionOf(
    `${statistic.title}${statistic.split ? " by weight and by head norm" : ""}`,
    artifacts,
    `${heads.a?.artifact.tokens.labels.length} ${subject.unit}s`,
  );
  return (
    <ViewFrame
      controls={controls}
      caption={caption}
      tools={
        <>
          <Note
            formula={statistic.formula}
            paper="Clark et al. 2019, What Does BERT Look At? (BlackboxNLP); Kobayashi et al. 2020 (EMNLP)"
          >
            <p>
              Every square is a head: layers from top to bottom, heads from left to right. {statistic.note} On the left
              by the weights, on the right by what the weights bring: the length of the vectors. The bars are the means
              of the layers.
            </p>
            <p className="soft">Click a head, or press Enter on it, to see it token by token.</p>
          </Note>
          <ExportMenu
            name={`attnscope-heads-${statistic.name}`}
            caption={caption}
            drawing={() => svg.current}
            table={() => tableOf(panels)}
          />
        </>
      }
      aside={aside}
    >
      <div className="matrix-room" ref={ref} data-stale={stale || undefined}>
        {!panels || !layout ? (
          <Empty title="These models can’t be laid over each other">
            <p>They have other layers or other heads. Choose A + B to see them beside each other.</p>
          </Empty>
        ) : (
          width > 0 && (
            <Matrix
              svg={svg}
              label={`${statistic.title}, ${panels.layers.length} layers by ${panels.heads.length} heads`}
              {...{ panels, statistic, layout, palette }}
              onPoint={(cell, at) => setPointed(cell && at && { cell, ...at })}
              onOpen={([layer, head]) => onOpen(panels.layers[layer]!, panels.heads[head]!)}
            />
          )
        )}
      </div>
      {pointed && panels && (
        <Tooltip x={pointed.x} y={pointed.y}>
          <HeadNumbers
            heads={heads}
            panels={panels}
            statistic={statistic}
            layer={panels.layers[pointed.cell[0]]!}
            head={panels.heads[pointed.cell[1]]!}
          />
        </Tooltip>
      )}
    </ViewFrame>
  );
}

interface NumbersProps {
  heads: Known["heads"];
  panels?: Panels;
  statistic: Statistic;
  layer: number;
  head: number;
}

/** A head in numbers: the chosen statistic first, then all others. */
function HeadNumbers({ heads, panels, statistic, layer, head }: NumbersProps) {
  const slots = (["a", "b"] as const).filter((slot) => heads[slot]);
  const first = heads[slots[0]!]!.artifact;
  const rest = statistics(first, false);
  const order = [
    ...rest.filter(({ name }) => name === statistic.name),
    ...rest.filter(({ name }) => name !== statistic.name),
  ];
  const number = (slot: Slot, one: Statistic, how: How) => {
    const parcel = heads[slot]!;
    const { layers, heads: all } = parcel.artifact;
    const place = layers.indexOf(layer) * all.length + all.indexOf(head);
    const found = layers.includes(layer) && all.includes(head) ? valuesOf(parcel, one, how)[place] : undefined;
    return found === undefined ? "–" : written(found, one.unit);
  };
  return (
    <>
      <p>
        <b>
          Layer {layer}, head {head}
        </b>
      </p>
      {slots.map((slot) => {
        const role = roleAt(heads[slot]!.artifact, layer, head);
        return (
          role && (
            <p key={slot} className="small">
              <span className={`in-${slot}`}>{slot.toUpperCase()}</span> looks <Looking role={role} />
            </p>
          )
        );
      })}
      {panels && statistic.between && (
        <p className="small numbers">
          A against B:{" "}
          {panels.rows[0]?.map((panel) => {
            const place = panels.layers.indexOf(layer) * panels.heads.length + panels.heads.indexOf(head);
            return (
              <span key={panel.key}>
                {panel.how ? HOW_TITLES[panel.how] : ""} <b>{written(panel.values[place] ?? 0, "nats")}</b>{" "}
              </span>
            );
          })}
        </p>
      )}
      <table className="values">
        <thead>
          <tr>
            <td />
            {slots.map((slot) => (
              <th key={slot} colSpan={2} scope="colgroup" className={`in-${slot}`}>
                {slot.toUpperCase()}
              </th>
            ))}
          </tr>
          <tr className="soft">
            <td />
            {slots.flatMap((slot) =>
              HOWS.map((how) => (
                <th key={slot + how} scope="col">
                  {how}
                </th>
              )),
            )}
          </tr>
        </thead>
        <tbody>
          {order.map((one) => (
            <tr key={one.name} data-strong={one.name === statistic.name || undefined}>
              <th scope="row">{one.short}</th>
              {slots.flatMap((slot) =>
                one.split ? (
                  HOWS.map((how) => (
                    <td key={slot + how} className="numbers">
                      {number(slot, one, how)}
                    </td>
                  ))
                ) : (
                  <td key={slot} colSpan={2} className="numbers">
                    {number(slot, one, "weight")}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

interface DetailsProps {
  heads: Known["heads"];
  change: Known["change"];
  open: readonly [number, number] | null;
  problem: string | null;
  statistic: Statistic;
}

/** What the heads are called, the open head's numbers, and what changed between the models. */
function Details({ heads, change, open, problem, statistic }: DetailsProps) {
  const slots = (["a", "b"] as const).filter((slot) => heads[slot]);
  const summary = change.weight?.artifact.summary ?? [];
  return (
    <div className="details">
      {open && (
        <section>
          <HeadNumbers heads={heads} statistic={statistic} layer={open[0]} head={open[1]} />
        </section>
      )}
      <section>
        <h2>What heads are named for</h2>
        {slots.map((slot) => (
          <Roles key={slot} slot={slot} artifact={heads[slot]!.artifact} single={slots.length === 1} open={open} />
        ))}
        <p className="small soft">
          More than half of a head’s weight on the token itself, the previous or the next one; more than 60 % on special
          tokens or punctuation. Broad heads spread theirs over more than some 45 tokens.
        </p>
      </section>
      {(summary.length > 0 || problem) && (
        <section>
          <h2>From A to B</h2>
          {problem ? <p className="small soft">{problem}</p> : summary.map((line) => <p key={line}>{line}</p>)}
        </section>
      )}
    </div>
  );
}

const BROAD = "broad";

/** What a head is named for, in a sentence. */
function Looking({ role }: { role: string }) {
  if (role === BROAD) return <b>broadly</b>;
  return (
    <>
      at <b>{SAID[role] ?? role}</b>
    </>
  );
}

interface RolesProps {
  slot: Slot;
  artifact: Heads;
  single: boolean;
  open: readonly [number, number] | null;
}

function Roles({ slot, artifact, single, open }: RolesProps) {
  const choose = useStore((state) => state.choose);
  const found = rolesOf(artifact).sort(([one], [other]) => Number(one === BROAD) - Number(other === BROAD));
  return (
    <div className="roles">
      {!single && <h3 className={`in-${slot}`}>{slot.toUpperCase()}</h3>}
      {found.length === 0 && <p className="small soft">No head has a habit that strong on this text.</p>}
      <dl>
        {found.map(([role, places]) => (
          <div key={role}>
            <dt>{role}</dt>
            {role === BROAD ? (
              <dd className="soft">{places.length === 1 ? "1 head" : `${places.length} heads`}</dd>
            ) : (
              <dd className="numbers">
                {places.map(([layer, head]) => (
                  <button
                    key={`${layer}-${head}`}
                    type="button"
                    className="link"
                    aria-current={(open?.[0] === layer && open[1] === head) || undefined}
                    aria-label={`Open layer ${layer}, head ${head}`}
                    onClick={() => choose({ head: [layer, head] })}
                  >
                    {layer}-{head}
                  </button>
                ))}
              </dd>
            )}
          </div>
        ))}
      </dl>
    </div>
  );
}

function tableOf(panels: Panels | null) {
  const every = panels?.rows.flat() ?? [];
  const rows: Cell[][] = [];
  for (const panel of every) {
    const width = panel.values.length / panel.means.length;
    panel.values.forEach((value, place) => {
      rows.push([
        panel.scale,
        panel.how,
        panels!.layers[Math.floor(place / width)]!,
        panels!.heads[place % width]!,
        value,
      ]);
    });
  }
  return { header: ["model", "measure", "layer", "head", "value"], rows };
}
