import { type Ref, useMemo } from "react";
import type { Palette } from "../../design/colour";
import { useCalm } from "../../state/calm";
import { BAR, keyItems, type Placed, placed, SIZE } from "./key";
import { measured } from "./lettering";
import { n } from "./polar";
import type { Flow } from "./useFlow";
import type { useZoom } from "./useZoom";

interface Props {
  ref: Ref<SVGSVGElement>;
  flow: Flow;
  palette: Palette;
  /** How much room there is. */
  width: number;
  zoom: ReturnType<typeof useZoom>;
  draw: "rings" | "sankey";
  onZoom: (key: string) => void;
}

const ZOOM = 100;

/** What the colours stand for; and how near one is. */
export function Key({ ref, flow, palette, width, zoom, draw, onZoom }: Props) {
  const room = Math.max(200, draw === "rings" ? width - ZOOM : width);
  const calm = useCalm(flow);
  const { items, height } = useMemo(
    () => placed(keyItems(calm, palette, draw), room, measured),
    [calm, palette, draw, room],
  );
  return (
    <div className="key">
      <svg
        ref={ref}
        viewBox={`0 0 ${room} ${height}`}
        width={room}
        height={height}
        role="img"
        aria-label={`Key. ${items.map(spoken).join("; ")}.`}
        fontFamily="Inter, sans-serif"
      >
        {items.map((item) => (
          <Item key={`${item.kind} ${item.text}`} item={item} palette={palette} />
        ))}
      </svg>
      <span className="zoom" role="group" aria-label="Zoom" hidden={draw !== "rings"}>
        <button
          type="button"
          className="quiet"
          aria-label="Zoom out"
          disabled={zoom.zoom.k === 1}
          onClick={() => onZoom("-")}
        >
          −
        </button>
        <button
          type="button"
          className="quiet numbers"
          aria-label="Zoom to fit"
          disabled={zoom.zoom.k === 1}
          onClick={() => onZoom("0")}
        >
          {Math.round(zoom.zoom.k * 100)} %
        </button>
        <button type="button" className="quiet" aria-label="Zoom in" onClick={() => onZoom("+")}>
          +
        </button>
      </span>
    </div>
  );
}

function spoken({ bars, from, text }: Placed): string {
  const names = bars?.map(({ name }) => name).join(" and ");
  return [names, from && `${from} to`, text].filter(Boolean).join(" ");
}

function Item({ item, palette }: { item: Placed; palette: Palette }) {
  const { x, y, mark, label, text, from } = item;
  return (
    <g transform={`translate(${n(x)} ${n(y + 12)})`} fontSize={SIZE} fill={palette.soft}>
      {from && <text dy="0.35em">{from}</text>}
      <g transform={`translate(${n(mark)} 0)`}>
        <Mark item={item} palette={palette} />
      </g>
      <text x={n(label)} dy="0.35em">
        {text}
      </text>
    </g>
  );
}

function Mark({ item: { kind, bars, colours }, palette }: { item: Placed; palette: Palette }) {
  if (kind === "outline")
    return <rect x={1} y={-4} width={8} height={8} fill="none" stroke={palette.ink} strokeWidth={1.4} />;
  if (kind === "swatch") return <rect y={-5} width={10} height={10} rx={2} fill={colours?.[0]} />;
  if (kind === "lines") {
    return (colours ?? []).map((colour, place) => (
      <path
        key={colour}
        d={place === 0 ? "M0 3H4C7 3 6-4 9-4H16" : "M0 0H4C7 0 6 3 9 3H16"}
        fill="none"
        stroke={colour}
        strokeWidth={1.2}
      />
    ));
  }
  const tall = (bars?.length ?? 1) > 1 ? 7 : 10;
  return (bars ?? []).map(({ name, colour, scale }, row) => {
    const top = (row - (bars?.length ?? 1) / 2) * (tall + 1) + 0.5;
    return (
      <g key={name} transform={`translate(0 ${n(top)})`}>
        {name && (
          <text x={-4} y={tall / 2} dy="0.36em" fontSize={8.5} fontWeight={640} fill={colour} textAnchor="end">
            {name}
          </text>
        )}
        {scale.map((fill, place) => (
          <rect
            key={fill}
            x={n((place * BAR) / scale.length)}
            width={n(BAR / scale.length + 0.3)}
            height={tall}
            fill={fill}
          />
        ))}
      </g>
    );
  });
}
