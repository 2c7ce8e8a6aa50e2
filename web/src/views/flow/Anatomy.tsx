import { type Palette, step, stepBetween } from "../../design/colour";
import { path, type Shapes } from "./ink";
import { addTile, at, baseline, sector } from "./polar";
import type { Flow } from "./useFlow";

const [INNER, OUTER, HALF] = [226, 310, 0.2];
const SIZE = { width: 136, height: 96 };
const LANE = [INNER + 3, INNER + 20] as const;
const CELL = 14;
const COLUMNS = 6;
/** A longer text takes its room, in a low window. */
const LONG = 44;
/** How strong each head is in A and in B. */
const HEADS = {
  two: [
    [0.9, 0.6],
    [0, 0],
    [0.35, 0],
    [0, 0],
    [0, 0.5],
    [0, 0],
    [0, 0],
    [0, 0.8],
    [0, 0],
    [0.3, 0.7],
    [0.55, 0],
    [0, 0],
  ],
  together: [[0.9, 0.5]],
} as const;

/** One word of one ring, much larger, and what each part of it says. */
export function Anatomy({ flow, palette }: { flow: Flow; palette: Palette }) {
  const two = flow.a !== null && flow.b !== null;
  const isDifference = flow.show === "diff";
  const perHead = flow.maps.heads.length > 0;
  return (
    <figure className="anatomy" data-long={flow.main.tokens.labels.length > LONG || undefined}>
      <figcaption>
        <h3>How to read a word in a ring</h3>
      </figcaption>
      <svg viewBox={`0 0 ${SIZE.width} ${SIZE.height}`} {...SIZE} aria-hidden="true">
        <g transform={`translate(${SIZE.width / 2} ${OUTER + 2})`}>
          <Sector flow={flow} palette={palette} />
        </g>
      </svg>
      <ul className="small">
        <li>tint: its influence{isDifference ? ", B\u00a0−\u00a0A" : two && ", by who reaches it"}</li>
        <li>
          {perHead ? "a cell for each head" : "a cell for all heads"}
          {isDifference ? ": B\u00a0−\u00a0A" : two ? ": left half A, right half B" : ", the deeper the stronger"}
        </li>
        <li>outlined: the strongest in its ring</li>
        <li>
          lines: what it receives
          {two && (
            <>
              {" "}
              in <b className="in-a">A</b> and <b className="in-b">B</b>
            </>
          )}
        </li>
      </ul>
    </figure>
  );
}

function Sector({ flow, palette }: { flow: Flow; palette: Palette }) {
  const two = flow.a && flow.b;
  const scales = [flow.a ? palette.amountsA : palette.amountsB, palette.amountsB];
  const tint = two ? palette.amountsBoth : scales[0]!;
  const heads = flow.maps.heads.length > 0 ? HEADS.two : HEADS.together;
  const columns = heads.length > 1 ? COLUMNS : 1;
  const rows = heads.length / columns;
  const size = heads.length > 1 ? CELL : 2 * CELL;
  const middle = (LANE[1] + OUTER - 14) / 2;
  const isDifference = flow.show === "diff";
  const cells = heads.flatMap(([a, b], head) => {
    const strengths = isDifference ? [b - a, 0] : two ? [a, b] : [a || b, 0];
    const [u, v] = [((head % columns) - columns / 2) * size, (rows / 2 - 1 - Math.floor(head / columns)) * size];
    const halved = strengths[0] && strengths[1];
    return strengths.flatMap((strength, slot) => {
      if (!strength) return [];
      const fill = isDifference
        ? stepBetween(palette.difference, strength)
        : step(scales[slot]!, 0.25 + 0.75 * strength);
      const data: number[] = [];
      const wide = (size - 1) / (halved ? 2 : 1);
      addTile(data, 0, middle, u + (halved && slot ? wide : 0), v, wide, size - 1);
      return [{ kind: "quads" as const, data, fill }];
    });
  });
  const outline: number[] = [];
  addTile(outline, 0, middle, (-columns / 2) * size - 1, (rows / 2 - 1) * size - 1, size + 1, size + 1);
  const line = (height: (part: number) => number) =>
    Array.from({ length: 25 }, (_, place) => {
      const part = place / 12 - 1;
      return at(part * HALF, LANE[0] + (LANE[1] - LANE[0]) * height(part));
    }).flat();
  const bump = (low: number, high: number) => line((part) => low + (high - low) * Math.max(0, 1 - (part * 1.4) ** 4));
  const lines = [
    ...(flow.a ? [{ data: [bump(0.15, 0.95)], stroke: palette.a }] : []),
    ...(flow.b ? [{ data: [bump(0.25, 0.6)], stroke: palette.b }] : []),
  ];
  const shapes: Shapes[] = [
    ...cells,
    { kind: "quads", data: outline, stroke: palette.ink, width: 1.4 },
    { kind: "lines", data: [line(() => 0)], stroke: palette.rule, width: 0.8 },
    ...lines.map((one) => ({ kind: "lines" as const, width: 1.3, ...one })),
  ];
  return (
    <>
      <path
        d={sector(-HALF, HALF, INNER, OUTER)}
        fill={isDifference ? stepBetween(palette.difference, -0.15) : step(tint, 0.2)}
      />
      {shapes.map((shape, place) => (
        <path
          key={place}
          d={path(shape)}
          fill={shape.fill ?? "none"}
          stroke={shape.stroke}
          strokeWidth={shape.width}
          strokeLinejoin="round"
        />
      ))}
      <path id="anatomy-word" d={baseline(-HALF, HALF, OUTER - 11)} fill="none" />
      <text fontSize={10} fill={palette.soft} textAnchor="middle">
        <textPath href="#anatomy-word" startOffset="50%">
          word
        </textPath>
      </text>
    </>
  );
}
