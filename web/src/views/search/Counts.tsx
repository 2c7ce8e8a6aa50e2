import { type KeyboardEvent, type Ref, useState } from "react";
import type { Search, Slot } from "../../api/types";
import { type Palette, step } from "../../design/colour";
import { moved } from "../heads/matrix";

interface Props {
  svg: Ref<SVGSVGElement>;
  artifact: Pick<Search, "layers" | "heads">;
  counts: { values: Float32Array; most: number };
  palette: Palette;
  width: number;
  slot: Slot;
  only: readonly [number, number | null] | null;
  onChoose: (head: readonly [number, number | null] | null) => void;
}

export interface CountsLayout {
  cell: number;
  tall: number;
  width: number;
  height: number;
}

const LEFT = 28;
const TOP = 22;
const LEGEND = 30;
const BAR = 90;

export function countsLayout(width: number, layers: number, heads: number): CountsLayout {
  const cell = Math.max(10, Math.min(44, Math.floor((width - LEFT - 8) / heads)));
  const tall = Math.max(12, Math.min(22, cell));
  return { cell, tall, width: LEFT + cell * heads + 8, height: TOP + tall * layers + LEGEND };
}

/** How often each head does it, with the number in the square. */
export function Counts({ svg, artifact, counts, palette, width, slot, only, onChoose }: Props) {
  const { layers } = artifact;
  const heads: readonly (number | null)[] = artifact.heads.length ? artifact.heads : [null];
  const layout = countsLayout(width, layers.length, heads.length);
  const [active, setActive] = useState<readonly [number, number] | null>(null);
  const scale = slot === "a" ? palette.amountsA : palette.amountsB;
  const toggle = ([layer, head]: readonly [number, number]) => {
    const chosen = [layers[layer]!, heads[head]!] as const;
    const none = counts.values[layer * heads.length + head] === 0;
    onChoose(none || (only?.[0] === chosen[0] && only[1] === chosen[1]) ? null : chosen);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" && active) return toggle(active);
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    setActive(active ? moved(active, event.key, layers.length, heads.length) : [0, 0]);
  };
  const chosen = only && ([layers.indexOf(only[0]), heads.indexOf(only[1])] as const);
  const said = active && counts.values[active[0] * heads.length + active[1]];
  return (
    <>
      <svg
        ref={svg}
        className="counts"
        viewBox={`0 0 ${layout.width} ${layout.height}`}
        width={layout.width}
        height={layout.height}
        role="application"
        aria-label="How often, by layer and head. Arrow keys go from head to head, Enter shows its places alone."
        tabIndex={0}
        onKeyDown={press}
        onBlur={() => setActive(null)}
        onClick={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const head = Math.floor((event.clientX - box.left - LEFT) / layout.cell);
          const layer = Math.floor((event.clientY - box.top - TOP) / layout.tall);
          if (head >= 0 && head < heads.length && layer >= 0 && layer < layers.length) toggle([layer, head]);
        }}
      >
        <CountMarks {...{ layers, heads, counts, layout, palette, scale }} />
        {[chosen, active].map(
          (place, which) =>
            place && (
              <rect
                key={which ? "active" : "chosen"}
                data-screen-only=""
                x={LEFT + place[1] * layout.cell - 0.5}
                y={TOP + place[0] * layout.tall - 0.5}
                width={layout.cell + 1}
                height={layout.tall + 1}
                fill="none"
                stroke={palette.ink}
                strokeWidth={which ? 1 : 2}
              />
            ),
        )}
      </svg>
      <p className="unseen" role="status">
        {active &&
          `Layer ${layers[active[0]]}${heads[active[1]] ? `, head ${heads[active[1]]}` : ""}: ${said === 1 ? "once" : `${said} times`}`}
      </p>
    </>
  );
}

interface MarksProps {
  layers: readonly number[];
  heads: readonly (number | null)[];
  counts: Props["counts"];
  layout: CountsLayout;
  palette: Palette;
  scale: readonly string[];
}

export function CountMarks({ layers, heads, counts, layout, palette, scale }: MarksProps) {
  const { cell, tall } = layout;
  return (
    <g transform={`translate(${LEFT} ${TOP})`} fontSize={10} fill={palette.soft}>
      {heads.map((head, place) => (
        <text key={head} x={(place + 0.5) * cell} y={-6} textAnchor="middle">
          {head === null ? "all heads" : cell >= 14 || place === 0 || (place + 1) % 4 === 0 ? head : ""}
        </text>
      ))}
      {layers.map((layer, place) => (
        <text key={layer} x={-6} y={(place + 0.5) * tall + 3.5} textAnchor="end">
          {layer}
        </text>
      ))}
      <rect width={cell * heads.length} height={tall * layers.length} fill={palette.field} />
      {Array.from(counts.values, (count, place) => {
        const share = Math.sqrt(count / counts.most);
        const [x, y] = [(place % heads.length) * cell, Math.floor(place / heads.length) * tall];
        return (
          <g key={place}>
            <rect
              x={x + 0.5}
              y={y + 0.5}
              width={cell - 1}
              height={tall - 1}
              fill={count ? step(scale, Math.max(share, 0.13)) : palette.paper}
            />
            {count > 0 && cell >= 20 && (
              <text
                x={x + cell / 2}
                y={y + tall / 2 + 3.5}
                textAnchor="middle"
                fill={share > 0.55 ? palette.paper : palette.ink}
                style={{ fontVariantNumeric: "tabular-nums" }}
              >
                {count}
              </text>
            )}
          </g>
        );
      })}
      <g transform={`translate(0 ${tall * layers.length + 12})`}>
        <text y={8}>0</text>
        {scale.map((colour, place) => (
          <rect
            key={colour}
            x={12 + (place * BAR) / scale.length}
            width={BAR / scale.length + 0.2}
            height={8}
            fill={colour}
          />
        ))}
        <text x={12 + BAR + 6} y={8}>
          {counts.most} times
        </text>
      </g>
    </g>
  );
}
