import { type KeyboardEvent, memo, type PointerEvent, type Ref, useState } from "react";
import { type Palette, step, stepBetween } from "../../design/colour";
import { cellAt, type MatrixLayout, moved } from "./matrix";
import type { Panel, Panels, Scale } from "./panels";
import { HOW_TITLES, type Statistic } from "./statistics";

interface DrawingProps {
  panels: Panels;
  statistic: Statistic;
  layout: MatrixLayout;
  palette: Palette;
  /** Number of a layer and a head, from 0. */
  active: readonly [number, number] | null;
}

const NAMES: Record<Scale, string> = { a: "A", b: "B", both: "A against B", difference: "B − A" };

/** All panels, as marks only. */
export function MatrixMarks({ panels, statistic, layout, palette, active }: DrawingProps) {
  return (
    <>
      {panels.rows.map((row, line) =>
        row.map((panel, column) => (
          <OnePanel
            key={panel.key}
            panel={panel}
            panels={panels}
            statistic={statistic}
            corner={layout.corners[line]![column]!}
            layout={layout}
            palette={palette}
            active={active}
          />
        )),
      )}
      <Legends panels={panels} statistic={statistic} layout={layout} palette={palette} />
    </>
  );
}

interface PanelProps extends DrawingProps {
  panel: Panel;
  corner: readonly [number, number];
}

function OnePanel({ panel, panels, statistic, corner: [left, top], layout, palette, active }: PanelProps) {
  const { cell, tall } = layout;
  const own = panel.values.length / panel.means.length;
  return (
    <g transform={`translate(${left} ${top})`}>
      <text y={-26} fontSize={12} fontWeight={620} fill={colourOf(panel.scale, palette)}>
        {NAMES[panel.scale]}
        <tspan dx={8} fontWeight={500} fill={palette.ink}>
          {panel.how ? HOW_TITLES[panel.how] : ""}
        </tspan>
      </text>
      <g fontSize={10} fill={palette.soft} style={{ fontVariantNumeric: "tabular-nums" }}>
        {panels.heads.map((head, place) => (
          <text
            key={head}
            x={(place + 0.5) * cell}
            y={-6}
            textAnchor="middle"
            fontWeight={active?.[1] === place ? 640 : 400}
            fill={active?.[1] === place ? palette.ink : palette.soft}
          >
            {cell >= 14 || place === 0 || (place + 1) % 4 === 0 ? head : ""}
          </text>
        ))}
        {panels.layers.map((layer, place) => (
          <text
            key={layer}
            x={-6}
            y={(place + 0.5) * tall + 3.5}
            textAnchor="end"
            fontWeight={active?.[0] === place ? 640 : 400}
            fill={active?.[0] === place ? palette.ink : palette.soft}
          >
            {tall >= 12 || place === 0 || (place + 1) % 4 === 0 ? layer : ""}
          </text>
        ))}
        <text x={layout.meanFrom} y={-6}>
          layer mean
        </text>
      </g>
      <Cells {...{ panel, panels, statistic, layout, palette }} />
      {active && active[0] < panel.means.length && active[1] < own && (
        <rect
          data-screen-only=""
          x={active[1] * cell - 0.5}
          y={active[0] * tall - 0.5}
          width={cell + 1}
          height={tall + 1}
          fill="none"
          stroke={palette.ink}
          strokeWidth={2}
        />
      )}
    </g>
  );
}

/** The squares and the means; they stay as they are while the cursor moves. */
const Cells = memo(function Cells({
  panel,
  panels,
  statistic,
  layout,
  palette,
}: Omit<PanelProps, "active" | "corner">) {
  const { cell, tall } = layout;
  const own = panel.values.length / panel.means.length;
  const gap = cell > 12 ? 1 : 0.5;
  return (
    <>
      <rect width={cell * own} height={tall * panel.means.length} fill={palette.field} />
      {Array.from(panel.values, (value, place) => (
        <rect
          key={place}
          x={(place % own) * cell + gap / 2}
          y={Math.floor(place / own) * tall + gap / 2}
          width={cell - gap}
          height={tall - gap}
          fill={fill(panel, value, panels, palette)}
        />
      ))}
      {Array.from(panel.means, (mean, layer) => (
        <Mean key={layer} {...{ mean, layer, panel, panels, statistic, layout, palette }} />
      ))}
    </>
  );
});

interface MeanProps extends Omit<PanelProps, "active" | "corner"> {
  mean: number;
  layer: number;
}

/** The mean over a layer's heads, as a bar with its number. */
function Mean({ mean, layer, panel, panels, statistic, layout, palette }: MeanProps) {
  const { tall, meanFrom, meanLength } = layout;
  const signed = panel.scale === "difference";
  const full = signed ? panels.furthest : panels.most;
  const length = (Math.abs(mean) / full) * meanLength;
  const thick = Math.min(6, tall - 4);
  return (
    <>
      <rect
        x={meanFrom}
        y={(layer + 0.5) * tall - thick / 2}
        width={Math.max(length, 0.5)}
        height={thick}
        fill={signed ? (mean < 0 ? palette.a : palette.b) : colourOf(panel.scale, palette)}
      />
      <text
        x={meanFrom + length + 4}
        y={(layer + 0.5) * tall + 3.5}
        fontSize={10}
        fill={palette.soft}
        style={{ fontVariantNumeric: "tabular-nums" }}
      >
        {written(mean, statistic.unit, signed)}
      </text>
    </>
  );
}

/** How long a legend's colours are. */
const BAR = 81;

/** Each scale once, with its numbers. */
function Legends({ panels, statistic, layout, palette }: Omit<DrawingProps, "active">) {
  const scales = [...new Set(panels.rows.flat().map((panel) => panel.scale))];
  return (
    <g transform={`translate(${layout.corners[0]![0]![0]} ${layout.legendAt})`} fontSize={10} fill={palette.soft}>
      {scales.map((scale, place) => (
        <g key={scale} transform={`translate(${place * 190} 0)`}>
          <text y={7} fontWeight={620} fill={colourOf(scale, palette)}>
            {NAMES[scale]}
          </text>
          <g transform={`translate(${scale.length > 1 ? 66 : 14} 0)`}>
            <text y={7} x={26} textAnchor="end">
              {scale === "difference" ? written(-panels.furthest, statistic.unit, true) : "0"}
            </text>
            <rect x={31.5} y={-0.5} width={82} height={9} fill="none" stroke={palette.rule} />
            {steps(scale, palette).map((colour, at, { length }) => (
              <rect key={colour} x={32 + (at * BAR) / length} width={BAR / length + 0.2} height={8} fill={colour} />
            ))}
            {scale === "difference" && (
              <text y={18} x={73} textAnchor="middle">
                0
              </text>
            )}
            <text y={7} x={118}>
              {written(scale === "difference" ? panels.furthest : panels.most, statistic.unit, scale === "difference")}
            </text>
          </g>
        </g>
      ))}
    </g>
  );
}

function steps(scale: Scale, palette: Palette): readonly string[] {
  return {
    a: palette.amountsA,
    b: palette.amountsB,
    both: palette.amountsBoth,
    difference: palette.difference,
  }[scale];
}

function colourOf(scale: Scale, palette: Palette): string {
  return { a: palette.a, b: palette.b, both: palette.both, difference: palette.ink }[scale];
}

/** The colour of a number of a panel. */
export function fill(panel: Panel, value: number, panels: Panels, palette: Palette): string {
  if (panel.scale === "difference") return stepBetween(palette.difference, value / panels.furthest);
  return step(steps(panel.scale, palette), value / panels.most);
}

/** A number of a statistic, as short as it can be read. */
export function written(value: number, unit: Statistic["unit"], signed = false): string {
  const sign = value < 0 ? "−" : signed && value > 0 ? "+" : "";
  const size = Math.abs(value);
  if (unit === "nats") return `${sign}${size.toFixed(2)}`;
  const shown = size * 100;
  return `${sign}${shown >= 9.95 || shown === 0 ? shown.toFixed(0) : shown >= 0.095 ? shown.toFixed(1) : "<0.1"} %`;
}

interface Props extends Omit<DrawingProps, "active"> {
  label: string;
  svg: Ref<SVGSVGElement>;
  onPoint: (cell: readonly [number, number] | null, at: { x: number; y: number } | null) => void;
  onOpen: (cell: readonly [number, number]) => void;
}

/** The panels with a cursor that is in all of them at once. */
export function Matrix({ label, svg, onPoint, onOpen, ...drawing }: Props) {
  const { layout } = drawing;
  const [active, setActive] = useState<readonly [number, number] | null>(null);
  const point = (cell: readonly [number, number] | null, at: { x: number; y: number } | null) => {
    setActive(cell);
    onPoint(cell, at);
  };
  const find = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const found = cellAt(layout, event.clientX - box.left, event.clientY - box.top);
    return found && ([found.layer, found.head] as const);
  };
  const press = (event: KeyboardEvent<SVGSVGElement>) => {
    if (event.key === "Enter" && active) return onOpen(active);
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const next = active ? moved(active, event.key, layout.layers, layout.heads) : ([0, 0] as const);
    const box = event.currentTarget.getBoundingClientRect();
    const [left, top] = layout.corners[0]![0]!;
    point(next, {
      x: box.left + left + (next[1] + 1) * layout.cell,
      y: box.top + top + (next[0] + 1) * layout.tall,
    });
  };
  return (
    <svg
      ref={svg}
      className="matrix"
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      width={layout.width}
      height={layout.height}
      role="application"
      aria-label={`${label}. Arrow keys go from head to head, Enter opens one.`}
      tabIndex={0}
      onPointerMove={(event) => {
        const found = find(event);
        point(found, found && { x: event.clientX, y: event.clientY });
      }}
      onPointerLeave={() => point(null, null)}
      onBlur={() => point(null, null)}
      onClick={(event) => {
        const found = find(event as unknown as PointerEvent<SVGSVGElement>);
        if (found) onOpen(found);
      }}
      onKeyDown={press}
      style={{ cursor: active ? "pointer" : "default" }}
    >
      <MatrixMarks {...drawing} active={active} />
    </svg>
  );
}
