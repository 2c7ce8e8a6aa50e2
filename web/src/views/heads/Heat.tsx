import { memo, useMemo } from "react";
import { lookup, type Palette } from "../../design/colour";
import { fitted, type Measure } from "../flow/lettering";
import { type HeatLayout, MOST_LABEL, pixels } from "./heatmap";
import type { HeatMap, HeatMaps } from "./maps";
import type { Scale } from "./panels";
import { HOW_TITLES } from "./statistics";

export interface Cursor {
  query: number;
  key: number;
}

export interface FigureLayout {
  heat: HeatLayout;
  /** Where each map's labels begin, by row and column. */
  corners: readonly (readonly (readonly [number, number])[])[];
  width: number;
  height: number;
}

export const TITLE = 28;
const LEGEND = 36;
export const BETWEEN = 24;

/** Maps on a grid, each with its labels. */
export function figureLayout(heat: HeatLayout, rows: number, columns: number): FigureLayout {
  const across = Math.max(heat.left + heat.width, 200) + BETWEEN;
  const down = TITLE + heat.top + heat.height + LEGEND + BETWEEN / 2;
  return {
    heat,
    corners: Array.from({ length: rows }, (_, row) =>
      Array.from({ length: columns }, (_, column) => [column * across, row * down] as const),
    ),
    width: columns * across - BETWEEN,
    height: rows * down - BETWEEN / 2,
  };
}

interface Props {
  maps: HeatMaps;
  layout: FigureLayout;
  palette: Palette;
  cursor: Cursor | null;
  /** The selected word's label, if any. */
  word: string | null;
  measure: Measure;
}

const NAMES: Record<Scale, string> = { a: "A", b: "B", both: "", difference: "B − A" };

/** Everything that is drawn of a head. */
export function HeatMarks({ maps, layout, palette, cursor, word, measure }: Props) {
  return (
    <>
      {maps.rows.map((row, line) =>
        row.map((map, column) => {
          const [x, y] = layout.corners[line]![column]!;
          return (
            <g key={map.key} transform={`translate(${x} ${y})`}>
              <Title map={map} palette={palette} left={layout.heat.left} />
              <g transform={`translate(${layout.heat.left} ${TITLE + layout.heat.top})`}>
                <Labels {...{ maps, palette, cursor, word, measure }} heat={layout.heat} />
                <Pixels map={map} heat={layout.heat} palette={palette} columns={maps.keys.labels.length} />
                <Frame heat={layout.heat} palette={palette} cursor={cursor} />
                <ScaleBar map={map} heat={layout.heat} palette={palette} />
              </g>
            </g>
          );
        }),
      )}
    </>
  );
}

function Title({ map, palette, left }: { map: HeatMap; palette: Palette; left: number }) {
  return (
    <text x={left} y={16} fontSize={12} fontWeight={620} fill={colourOf(map.scale, palette)}>
      {NAMES[map.scale]}
      <tspan dx={8} fontWeight={500} fill={palette.ink}>
        {HOW_TITLES[map.how]}
      </tspan>
    </text>
  );
}

interface PixelsProps {
  map: HeatMap;
  heat: HeatLayout;
  palette: Palette;
  columns: number;
}

/** One picture from the numbers; the browser makes its pixels large, and keeps their edges. */
const Pixels = memo(function Pixels({ map, heat, palette, columns }: PixelsProps) {
  const colours = useMemo(() => lookup(steps(map.scale, palette)), [map.scale, palette]);
  const source = useMemo(() => {
    const [across, down] = heat.cell < 1 ? [Math.floor(heat.width), Math.floor(heat.height)] : sizes(heat);
    return picture(
      pixels({
        values: map.values,
        columns,
        range: heat.range,
        colours,
        low: map.low,
        high: map.high,
        across: Math.max(across, 1),
        down: Math.max(down, 1),
      }),
      Math.max(across, 1),
      Math.max(down, 1),
    );
  }, [map, heat, colours, columns]);
  return (
    <image
      href={source}
      width={heat.width}
      height={heat.height}
      preserveAspectRatio="none"
      style={{ imageRendering: "pixelated" }}
    />
  );
});

function sizes(heat: HeatLayout): [number, number] {
  return [heat.range.key[1], heat.range.query[1]];
}

let canvas: HTMLCanvasElement | undefined;

function picture(rgba: Uint8ClampedArray, width: number, height: number): string {
  canvas ??= document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (!context) return "";
  context.putImageData(new ImageData(rgba as Uint8ClampedArray<ArrayBuffer>, width, height), 0, 0);
  return canvas.toDataURL("image/png");
}

interface LabelsProps {
  maps: HeatMaps;
  heat: HeatLayout;
  palette: Palette;
  cursor: Cursor | null;
  word: string | null;
  measure: Measure;
}

/** Who looks at the left, who is looked at on top; without room for all, those under the cursor alone. */
function Labels({ maps, heat, palette, cursor, word, measure }: LabelsProps) {
  const size = heat.type || 11;
  const shown = (axis: "query" | "key") => {
    const labels = (axis === "query" ? maps.queries : maps.keys).labels;
    const [from, count] = heat.range[axis];
    const places = heat.type
      ? Array.from({ length: count }, (_, place) => from + place)
      : cursor && cursor[axis] >= from && cursor[axis] < from + count
        ? [cursor[axis]]
        : [];
    return places.map((place) => ({
      place,
      label: fitted(labels[place]!, size, heat.type ? MOST_LABEL : 240, measure),
      at: (place - from + 0.5) * heat.cell,
      strong: cursor?.[axis] === place || labels[place] === word,
    }));
  };
  return (
    <g fontSize={size}>
      {heat.type > 0 &&
        shown("query").map(({ place, label, at, strong }) => (
          <text
            key={place}
            x={-6}
            y={at + size * 0.34}
            textAnchor="end"
            fontWeight={strong ? 640 : 400}
            fill={strong ? palette.ink : palette.soft}
          >
            {label}
          </text>
        ))}
      {heat.type > 0 &&
        shown("key").map(({ place, label, at, strong }) => (
          <text
            key={place}
            transform={`translate(${at + size * 0.34} -6) rotate(-90)`}
            fontWeight={strong ? 640 : 400}
            fill={strong ? palette.ink : palette.soft}
          >
            {label}
          </text>
        ))}
    </g>
  );
}

/** An edge around the map, and the cross of the cursor. */
function Frame({ heat, palette, cursor }: { heat: HeatLayout; palette: Palette; cursor: Cursor | null }) {
  const at = cursor && {
    x: (cursor.key - heat.range.key[0]) * heat.cell,
    y: (cursor.query - heat.range.query[0]) * heat.cell,
  };
  const size = Math.max(heat.cell, 3);
  return (
    <>
      <rect width={heat.width} height={heat.height} fill="none" stroke={palette.rule} />
      {at && at.x >= 0 && at.y >= 0 && at.x < heat.width && at.y < heat.height && (
        <g data-screen-only="" fill={palette.ink} fillOpacity={0.07} pointerEvents="none">
          <rect y={at.y} width={heat.width} height={size} />
          <rect x={at.x} width={size} height={heat.height} />
          <rect
            x={at.x - 0.5}
            y={at.y - 0.5}
            width={size + 1}
            height={size + 1}
            fill="none"
            stroke={palette.ink}
            strokeWidth={1.5}
          />
        </g>
      )}
    </>
  );
}

const BAR = 126;
const BOTH_WAYS = 192;

/** The colours with numbers at their ends and halfway, where the root of the largest is half. */
function ScaleBar({ map, heat, palette }: { map: HeatMap; heat: HeatLayout; palette: Palette }) {
  const colours = steps(map.scale, palette);
  const signed = map.scale === "difference";
  const bar = signed ? BOTH_WAYS : BAR;
  const step = bar / colours.length;
  const numbers: [number, string][] = signed
    ? [
        [0, value(map.low, true)],
        [0.25, value(map.low / 4, true)],
        [0.5, "0"],
        [0.75, value(map.high / 4, true)],
        [1, value(map.high, true)],
      ]
    : [
        [0, "0"],
        [0.5, value(map.high / 4)],
        [1, value(map.high)],
      ];
  return (
    <g transform={`translate(0 ${heat.height + 8})`} fontSize={10} fill={palette.soft}>
      <rect x={-0.5} y={-0.5} width={bar + 1} height={7} fill="none" stroke={palette.rule} />
      {colours.map((colour, place) => (
        <rect key={colour} x={place * step} width={step + 0.2} height={6} fill={colour} />
      ))}
      {numbers.map(([at, text]) => (
        <text
          key={at}
          x={at * bar}
          y={17}
          textAnchor={at === 0 ? "start" : "middle"}
          style={{ fontVariantNumeric: "tabular-nums" }}
        >
          {text}
        </text>
      ))}
    </g>
  );
}

export function value(number: number, signed = false): string {
  const sign = number < 0 ? "−" : signed && number > 0 ? "+" : "";
  const size = Math.abs(number);
  if (size > 0 && size < 0.0005) return `${sign}<0.001`;
  return `${sign}${size >= 10 ? size.toFixed(1) : size >= 0.0995 || size === 0 ? size.toFixed(2) : size.toFixed(3)}`;
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
