import { type KeyboardEvent, type PointerEvent, useMemo, useRef, useState } from "react";
import { together, useParcel } from "../../api/queries";
import type { Head } from "../../api/types";
import { usePalette } from "../../design/theme";
import type { Cell } from "../../export/csv";
import { captionOf } from "../../parts/caption";
import { ExportMenu } from "../../parts/ExportMenu";
import { Note } from "../../parts/Note";
import { Failed, Working } from "../../parts/States";
import { Tooltip } from "../../parts/Tooltip";
import { useSize } from "../../parts/useSize";
import { ViewFrame } from "../../parts/ViewFrame";
import { useStore } from "../../state/store";
import type { Subject } from "../../state/subject";
import { measured } from "../flow/lettering";
import { type Cursor, figureLayout, HeatMarks, TITLE, value } from "./Heat";
import { cellUnder, following, heatLayout, type Range, whole, zoomed } from "./heatmap";
import { type HeatMaps, mapsOf } from "./maps";
import { HOW_TITLES } from "./statistics";

interface Props {
  subject: Subject;
  layer: number;
  head: number;
  controls: React.ReactNode;
  aside?: React.ReactNode;
  /** Takes the view to another head, by an arrow key. */
  onMove?: (key: string) => void;
}

/** One head, token by token. */
export function OneHead({ subject, layer, head, controls, aside, onMove }: Props) {
  const show = useStore((state) => state.show);
  const choose = useStore((state) => state.choose);
  const { text, pair, unit, slots } = subject;
  const request = { text, pair, unit, layer, head };
  const a = useParcel<Head>("head", { slot: "a", ...request });
  const b = useParcel<Head>("head", slots.includes("b") ? { slot: "b", ...request } : null);
  const given = useMemo(
    () => ({ ...(a.data && !a.error && { a: a.data }), ...(b.data && !b.error && { b: b.data }) }),
    [a.data, a.error, b.data, b.error],
  );
  const maps = useMemo(() => mapsOf(given, show), [given, show]);
  const svg = useRef<SVGSVGElement>(null);
  const error = a.error ?? (maps ? null : b.error);
  const asked = together(a, b);
  const caption = captionOf(
    `Layer ${layer}, head ${head}: weight α and head norm ‖αf(x)‖`,
    Object.fromEntries(Object.entries(given).map(([slot, parcel]) => [slot, parcel.artifact])),
    maps ? `${maps.queries.labels.length} ${unit}s` : undefined,
  );
  return (
    <ViewFrame
      controls={controls}
      back={
        <button type="button" className="link" onClick={() => choose({ head: null })}>
          ← All heads
        </button>
      }
      caption={caption}
      tools={
        <>
          <Note
            formula="αᵢⱼ   and   ‖αᵢⱼ f(xⱼ)‖,   f(x) = (x W_V + b_V) W_O"
            paper="Kobayashi et al. 2020, Attention is Not Only a Weight (EMNLP)"
          >
            <p>
              Each row is a token that looks, each column one that is looked at. On the left, how large the head’s
              weight is; on the right, how long the vector is that the weight brings. A word with a large weight and a
              short vector is looked at and hardly taken in.
            </p>
            <p className="soft">
              Arrow keys move the cross, + and − zoom, 0 shows all again. Drag to look at a part. Shift and an arrow key
              go to the next head.
            </p>
          </Note>
          <ExportMenu
            name={`attnscope-head-${layer}-${head}`}
            caption={caption}
            drawing={() => svg.current}
            table={() => tableOf(maps)}
          />
        </>
      }
      aside={aside}
    >
      {error ? (
        <Failed error={error} onRetry={asked.retry} />
      ) : !maps ? (
        <Working what="Reading the head" steps={asked.steps} onCancel={asked.cancel} />
      ) : (
        <Figure
          key={`${maps.queries.labels.length} ${maps.keys.labels.length}`}
          maps={maps}
          svg={svg}
          stale={a.stale || b.stale}
          {...(onMove && { onMove })}
          label={`Layer ${layer}, head ${head}`}
        />
      )}
    </ViewFrame>
  );
}

interface FigureProps {
  maps: HeatMaps;
  svg: React.RefObject<SVGSVGElement | null>;
  stale: boolean;
  label: string;
  onMove?: (key: string) => void;
}

function Figure({ maps, svg, stale, label, onMove }: FigureProps) {
  const palette = usePalette();
  const word = useStore((state) => state.word);
  const hover = useStore((state) => state.hover);
  const choose = useStore((state) => state.choose);
  const point = useStore((state) => state.point);
  const [ref, size] = useSize<HTMLDivElement>();
  const all = useMemo(() => whole(maps.queries.labels.length, maps.keys.labels.length), [maps]);
  const [range, setRange] = useState<Range>(all);
  const [cursor, setCursor] = useState<Cursor | null>(null);
  const [at, setAt] = useState<{ x: number; y: number } | null>(null);
  const dragging = useRef<{ from: Cursor; x: number; y: number } | null>(null);
  const [box, setBox] = useState<{ x: number; y: number; width: number; height: number } | null>(null);
  const widest = useMemo(
    () => Math.max(...[...maps.queries.labels, ...maps.keys.labels].map((one) => measured(one, 11))),
    [maps],
  );
  const columns = maps.rows[0]?.length ?? 0;
  const layout = useMemo(() => {
    const width = (Math.max(size.width, 320) - 24) / columns - 12;
    const heat = heatLayout(
      { width, height: Math.max(width, 240), queries: all.query[1], keys: all.key[1], widest },
      range,
    );
    return figureLayout(heat, maps.rows.length, columns);
  }, [size.width, columns, maps.rows.length, all, range, widest]);
  const { heat } = layout;

  const under = (event: PointerEvent<SVGSVGElement>): Cursor | null => {
    const outer = event.currentTarget.getBoundingClientRect();
    for (const [left, top] of layout.corners.flat()) {
      const x = event.clientX - outer.left - left - heat.left;
      const y = event.clientY - outer.top - top - TITLE - heat.top;
      const found = cellUnder(heat, x, y);
      if (found) return found;
    }
    return null;
  };
  const place = (next: Cursor | null, where: { x: number; y: number } | null) => {
    setCursor(next);
    setAt(where);
    point(next ? { word: maps.keys.labels[next.key]! } : null);
  };
  const moveTo = (next: Cursor, element: SVGSVGElement) => {
    const seen = following(range, next);
    setRange(seen);
    const outer = element.getBoundingClientRect();
    const [left, top] = layout.corners[0]![0]!;
    place(next, {
      x: outer.left + left + heat.left + (next.key - seen.key[0] + 1) * heat.cell,
      y: outer.top + top + TITLE + heat.top + (next.query - seen.query[0] + 1) * heat.cell,
    });
  };
  const press = (event: KeyboardEvent<SVGSVGElement>) => {
    const here = cursor ?? { query: range.query[0], key: range.key[0] };
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (step) {
      event.preventDefault();
      if (event.shiftKey) return onMove?.(event.key);
      const next = cursor
        ? {
            query: Math.min(Math.max(here.query + step[0]!, 0), all.query[1] - 1),
            key: Math.min(Math.max(here.key + step[1]!, 0), all.key[1] - 1),
          }
        : here;
      moveTo(next, event.currentTarget);
    } else if (event.key === "+" || event.key === "=") setRange(zoomed(range, all, here, true));
    else if (event.key === "-") setRange(zoomed(range, all, here, false));
    else if (event.key === "0") setRange(all);
    else if (event.key === "Enter" && cursor) choose({ word: maps.keys.labels[cursor.key]! });
  };
  const down = (event: PointerEvent<SVGSVGElement>) => {
    const from = under(event);
    if (!from || event.button !== 0) return;
    const outer = event.currentTarget.getBoundingClientRect();
    dragging.current = { from, x: event.clientX - outer.left, y: event.clientY - outer.top };
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent<SVGSVGElement>) => {
    const begun = dragging.current;
    if (begun) {
      const outer = event.currentTarget.getBoundingClientRect();
      const [x, y] = [event.clientX - outer.left, event.clientY - outer.top];
      setBox({
        x: Math.min(x, begun.x),
        y: Math.min(y, begun.y),
        width: Math.abs(x - begun.x),
        height: Math.abs(y - begun.y),
      });
    }
    const found = under(event);
    place(found, found && { x: event.clientX, y: event.clientY });
  };
  const up = (event: PointerEvent<SVGSVGElement>) => {
    const begun = dragging.current;
    const to = under(event);
    dragging.current = null;
    setBox(null);
    if (!begun || !to) return;
    const part = spanned(begun.from, to);
    if (part.query[1] > 2 && part.key[1] > 2) setRange(part);
    else if (begun.from.key === to.key && begun.from.query === to.query) {
      const label = maps.keys.labels[to.key]!;
      choose({ word: word === label ? null : label });
    }
  };
  const isWhole = range.query[1] === all.query[1] && range.key[1] === all.key[1];
  return (
    <div className="heat" ref={ref} data-stale={stale || undefined}>
      {maps.problem && <p className="small soft">{maps.problem}</p>}
      {!isWhole && (
        <p className="small soft">
          {maps.queries.labels[range.query[0]]} … {maps.queries.labels[range.query[0] + range.query[1] - 1]} looking at{" "}
          {maps.keys.labels[range.key[0]]} … {maps.keys.labels[range.key[0] + range.key[1] - 1]}{" "}
          <button type="button" className="link" onClick={() => setRange(all)}>
            show all
          </button>
        </p>
      )}
      {size.width > 0 && (
        <svg
          ref={svg}
          viewBox={`0 0 ${layout.width} ${layout.height}`}
          width={layout.width}
          height={layout.height}
          role="application"
          aria-label={`${label}: how much each token takes from each. Arrow keys move the cross, plus and minus zoom, Shift and an arrow key go to the next head.`}
          tabIndex={0}
          onPointerDown={down}
          onPointerMove={move}
          onPointerUp={up}
          onPointerLeave={() => !dragging.current && place(null, null)}
          onDoubleClick={() => setRange(all)}
          onBlur={() => place(null, null)}
          onKeyDown={press}
        >
          <HeatMarks
            maps={maps}
            layout={layout}
            palette={palette}
            cursor={cursor}
            word={hover?.word ?? word}
            measure={measured}
          />
          {box && (
            <rect
              data-screen-only=""
              {...box}
              fill={palette.ink}
              fillOpacity={0.08}
              stroke={palette.ink}
              strokeDasharray="3 3"
            />
          )}
        </svg>
      )}
      {cursor && at && !box && (
        <Tooltip x={at.x} y={at.y}>
          <p>
            <b>{maps.queries.labels[cursor.query]}</b> <span className="soft">looks at</span>{" "}
            <b>{maps.keys.labels[cursor.key]}</b>
          </p>
          <Values maps={maps} cursor={cursor} />
        </Tooltip>
      )}
    </div>
  );
}

function spanned(from: Cursor, to: Cursor): Range {
  const side = (one: number, other: number): readonly [number, number] => [
    Math.min(one, other),
    Math.abs(one - other) + 1,
  ];
  return { query: side(from.query, to.query), key: side(from.key, to.key) };
}

const NAMES = { a: "A", b: "B", both: "", difference: "B − A" } as const;

function Values({ maps, cursor }: { maps: HeatMaps; cursor: Cursor }) {
  const place = cursor.query * maps.keys.labels.length + cursor.key;
  return (
    <table className="values">
      <thead>
        <tr>
          <td />
          {maps.rows[0]?.map(({ how }) => (
            <th key={how} scope="col">
              {HOW_TITLES[how].replace("by ", "")}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {maps.rows.map((row) => (
          <tr key={row[0]!.key}>
            <th scope="row">{NAMES[row[0]!.scale]}</th>
            {row.map((map) => (
              <td key={map.key} className="numbers">
                {value(map.values[place]!, map.scale === "difference")}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function tableOf(maps: HeatMaps | null) {
  const every = maps?.rows.flat() ?? [];
  return { header: ["query", "key", ...every.map(({ key }) => key.replace("-", "_"))], rows: rowsOf(maps) };
}

function* rowsOf(maps: HeatMaps | null): Generator<Cell[]> {
  if (!maps) return;
  const every = maps.rows.flat();
  const width = maps.keys.labels.length;
  for (const [query, looking] of maps.queries.labels.entries()) {
    for (const [key, looked] of maps.keys.labels.entries()) {
      yield [looking, looked, ...every.map(({ values }) => values[query * width + key]!)];
    }
  }
}
