import { type KeyboardEvent, type PointerEvent, useCallback, useMemo, useRef, useState } from "react";
import type { Questions } from "../../api/queries";
import type { Slot } from "../../api/types";
import type { Palette } from "../../design/colour";
import { usePalette } from "../../design/theme";
import { captionOf } from "../../parts/caption";
import { ExportMenu } from "../../parts/ExportMenu";
import { percent } from "../../parts/numbers";
import { Empty, Failed, Working } from "../../parts/States";
import { Tooltip } from "../../parts/Tooltip";
import { useSize } from "../../parts/useSize";
import { ViewFrame } from "../../parts/ViewFrame";
import { useCalm } from "../../state/calm";
import { useStore } from "../../state/store";
import { measurable, type Subject } from "../../state/subject";
import type { ViewProps } from "..";
import { Controls } from "./Controls";
import { Details } from "./Details";
import "./flow.css";
import { FlowNote } from "./FlowNote";
import { Key } from "./Key";
import { measured } from "./lettering";
import { readings } from "./options";
import { type Pointed, Rings } from "./Rings";
import { focus, frame, locate } from "./rings";
import { Sankey } from "./Sankey";
import { sankey } from "./sankey";
import { Tip } from "./Tip";
import { table } from "./table";
import { type Flow, useFlow } from "./useFlow";
import { useZoom } from "./useZoom";

export default function FlowView({ subject: given }: ViewProps) {
  const subject = useMemo(() => measurable(given), [given]);
  const [stage, setStage] = useState<HTMLElement | null>(null);
  const zoom = useZoom(stage);
  const draw = useStore((state) => state.draw);
  // Only rings can be looked at more closely.
  const { flow, asked, error } = useFlow(subject, draw === "rings" ? zoom.zoom.k : 1);
  const calm = useCalm(flow);
  const palette = usePalette();
  const drawing = useRef<SVGSVGElement>(null);
  const key = useRef<SVGSVGElement>(null);
  const { models, measure, unit } = subject;
  const shown = Object.fromEntries(
    Object.entries(flow?.errors ?? {}).map(([slot, reconstruction_error]) => [
      slot,
      { model: models[slot as Slot]!.name, reconstruction_error },
    ]),
  );
  const caption = captionOf(`${measure.title} by ${unit}`, shown);
  return (
    <ViewFrame
      controls={flow && <Controls subject={subject} flow={flow} />}
      caption={caption}
      tools={
        flow && (
          <>
            <FlowNote subject={subject} />
            <ExportMenu
              name={`attnscope-flow-${subject.measure.name}`}
              caption={`“${short(subject.text)}” · ${captionOf(`${measure.title} by ${unit}`, shown, traced(subject, flow))}`}
              drawing={() => drawing.current}
              legend={() => key.current}
              table={() => table(flow)}
            />
          </>
        )
      }
      aside={calm && <Details flow={calm} palette={palette} />}
    >
      {error && !asked.working ? (
        <Failed error={error} onRetry={asked.retry} />
      ) : flow ? (
        <Stage
          ref={drawing}
          keyRef={key}
          onStage={setStage}
          flow={flow}
          palette={palette}
          zoom={zoom}
          working={flow.stale}
          asked={asked}
        />
      ) : (
        <Waiting asked={asked} />
      )}
    </ViewFrame>
  );
}

/** Being read, or called off. */
function Waiting({ asked }: { asked: Questions }) {
  if (asked.working)
    return <Working what="Reading the maps of all layers" steps={asked.steps} onCancel={asked.cancel} />;
  return (
    <Empty title="Called off">
      <button type="button" onClick={asked.retry}>
        Read it after all
      </button>
    </Empty>
  );
}

interface StageProps {
  ref: React.RefObject<SVGSVGElement | null>;
  keyRef: React.RefObject<SVGSVGElement | null>;
  onStage: (element: HTMLElement | null) => void;
  flow: Flow;
  palette: Palette;
  zoom: ReturnType<typeof useZoom>;
  working: boolean;
  asked: Questions;
}

interface Pointer extends Pointed {
  x: number;
  y: number;
}

function Stage({ ref, keyRef, onStage, flow, palette, zoom, working, asked }: StageProps) {
  const draw = useStore((state) => state.draw);
  const choose = useStore((state) => state.choose);
  const point = useStore((state) => state.point);
  const hover = useStore((state) => state.hover);
  const [box, size] = useSize<HTMLDivElement>();
  const [pointer, setPointer] = useState<Pointer | null>(null);
  const place = useCallback(
    (element: HTMLDivElement | null) => {
      box.current = element;
      onStage(element);
    },
    [box, onStage],
  );
  const { picture, groups, main } = flow;

  const rings = useMemo(
    () =>
      draw === "rings" && size.width > 0
        ? frame({
            ...size,
            zoom: zoom.zoom.k,
            pan: [zoom.zoom.x, zoom.zoom.y],
            groups,
            layers: picture.layers,
            heads: picture.heads,
            measure: measured,
          })
        : null,
    [draw, size, zoom.zoom, groups, picture.layers, picture.heads],
  );
  const columns = useMemo(
    () =>
      draw === "sankey" && size.width > 0
        ? sankey({
            ...size,
            groups,
            of: picture.of,
            layers: picture.layers,
            a: flow.a,
            b: flow.b,
            target: flow.target,
            from: flow.from,
            measure: measured,
          })
        : null,
    [draw, size, groups, picture, flow.a, flow.b, flow.target, flow.from],
  );

  const find = (event: { clientX: number; clientY: number }): Pointer | null => {
    const outline = ref.current?.getBoundingClientRect();
    if (!outline) return null;
    const [x, y] = [event.clientX - outline.x, event.clientY - outline.y];
    const found = rings ? locate(rings, x, y) : columns ? nearest(columns, x, y) : null;
    return found?.kind === "sector"
      ? { level: found.level, group: found.group, x: event.clientX, y: event.clientY }
      : null;
  };
  const labelOf = (group: number) => main.tokens.labels[groups[group]!.first]!;
  const onMove = (event: PointerEvent) => {
    if (zoom.move(event)) return setPointer(null);
    const found = find(event);
    setPointer(found);
    point(found && { word: labelOf(found.group), layer: picture.layers[found.level]! });
  };
  const onUp = (event: PointerEvent) => {
    if (zoom.release() || event.button !== 0) return;
    const found = find(event);
    const isSame = found && flow.selected !== null && picture.of[flow.selected] === found.group;
    choose({ word: found && !isSame ? labelOf(found.group) : null });
  };
  const onZoom = (key: string) =>
    zoom.key(key, rings ? focus(rings, flow.selected === null ? null : picture.of[flow.selected]!) : undefined);
  const onKeys = (event: KeyboardEvent) => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) {
      const now = flow.selected === null ? (by > 0 ? -1 : 0) : picture.of[flow.selected]!;
      choose({ word: labelOf((now + by + groups.length) % groups.length) }, { quiet: flow.selected !== null });
    } else if (!onZoom(event.key)) return;
    event.preventDefault();
  };
  // What another view or the text points at is shown here too.
  const pointed = pointer ?? fromHover(flow, hover);
  return (
    <>
      <div
        className="stage"
        ref={place}
        role="group"
        tabIndex={0}
        aria-label="Drawing. Arrow keys choose a word; plus, minus and zero zoom."
        data-working={working || undefined}
        data-zoomed={zoom.zoom.k > 1 || undefined}
        onPointerDown={zoom.press}
        onPointerMove={onMove}
        onPointerUp={onUp}
        onPointerLeave={() => {
          zoom.release();
          setPointer(null);
          point(null);
        }}
        onDoubleClick={(event) => {
          const outline = event.currentTarget.getBoundingClientRect();
          zoom.by(2, event.clientX - outline.x - outline.width / 2, event.clientY - outline.y - outline.height / 2);
        }}
        onKeyDown={onKeys}
      >
        {rings && <Rings ref={ref} flow={flow} frame={rings} palette={palette} pointed={pointed} />}
        {columns && <Sankey ref={ref} flow={flow} drawing={columns} palette={palette} pointed={pointed} />}
        {working && (
          <div className="stage-working">
            <Waiting asked={asked} />
          </div>
        )}
      </div>
      <Key ref={keyRef} flow={flow} palette={palette} width={size.width} zoom={zoom} draw={draw} onZoom={onZoom} />
      {pointer && (
        <Tooltip x={pointer.x} y={pointer.y}>
          <Tip flow={flow} level={pointer.level} group={pointer.group} />
        </Tooltip>
      )}
    </>
  );
}

function fromHover(flow: Flow, hover: { word: string; layer?: number } | null): Pointed | null {
  if (!hover) return null;
  const token = flow.main.tokens.labels.indexOf(hover.word);
  if (token < 0) return null;
  const level = hover.layer === undefined ? 0 : flow.picture.layers.indexOf(hover.layer);
  return { level: Math.max(0, level), group: flow.picture.of[token]! };
}

function nearest(drawing: ReturnType<typeof sankey>, x: number, y: number) {
  const columns = [...new Set(drawing.bars.map((bar) => bar.x))];
  const step = columns.length > 1 ? columns[1]! - columns[0]! : 60;
  const found = drawing.bars
    .filter(
      (bar) =>
        bar.group !== null && x > bar.x - (bar.level === 0 ? 100 : step * 0.2) && x < bar.x + drawing.bar + step * 0.35,
    )
    .map((bar) => ({ bar, away: Math.max(bar.y - y, y - bar.y - bar.height, 0) }))
    .sort((one, other) => one.away - other.away)[0];
  return found && found.away < 10 ? { kind: "sector" as const, level: found.bar.level, group: found.bar.group! } : null;
}

/** How the graph came about, for those who don't see the controls beside it. */
function traced(subject: Subject, { maps, target, threshold }: Flow): string {
  const reading = readings(subject, maps.tokens.labels.length).find(({ value }) => value === maps.reading)?.label;
  return `${String(reading).toLowerCase()}, traced from ${target}, shares from ${percent(threshold)}`;
}

function short(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
