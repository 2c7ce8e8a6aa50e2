import { type Ref, useMemo } from "react";
import { type Palette, stepBetween } from "../../design/colour";
import { type Link, at as linksAt } from "./links";
import { n } from "./polar";
import type { Pointed } from "./Rings";
import { linkColour, type Ribbon, type SankeyDrawing } from "./sankey";
import type { Flow } from "./useFlow";

interface Props {
  ref: Ref<SVGSVGElement>;
  flow: Flow;
  drawing: SankeyDrawing;
  palette: Palette;
  pointed: Pointed | null;
}

const MANY = 900;

export function Sankey({ ref, flow, drawing, palette, pointed }: Props) {
  const { picture, paths, show, selected } = flow;
  const lit = useMemo(() => litLinks(flow, pointed), [flow, pointed]);
  const isLit = (link: Link) => lit === null || lit.has(name(link));
  const group = selected === null ? null : picture.of[selected]!;
  const colour = (link: Link) =>
    show === "diff"
      ? stepBetween(palette.difference, (link.b - link.a) / picture.most.difference)
      : linkColour(link, palette);
  const many = drawing.ribbons.length > MANY;
  const isCarried = !pointed && flow.from !== null;
  const shown = shapes(drawing.ribbons, many, isCarried ? () => false : isLit, colour, (one) => one.path);
  const carried = isCarried
    ? shapes(
        drawing.ribbons,
        many,
        () => true,
        colour,
        (one) => one.carried,
      )
    : [];
  return (
    <svg
      ref={ref}
      className="drawing"
      viewBox={`0 0 ${drawing.width} ${drawing.height}`}
      width={drawing.width}
      height={drawing.height}
      role="img"
      aria-label={`Flow from the words at the left to ${flow.target} at the right, through ${picture.layers.length} layers.`}
      fontFamily="Inter, sans-serif"
    >
      {drawing.columns.map(({ x, text }, level) => (
        <text key={x} x={n(x)} y={14} fontSize={10} fill={palette.soft} textAnchor="middle">
          {level === 1 ? `layer ${text}` : text}
        </text>
      ))}
      <g>
        {shown.map(({ path, fill, on }, place) => (
          <path key={place} d={path} fill={fill} opacity={on ? (lit ? 0.7 : 0.38) : 0.08} />
        ))}
        {carried.map(({ path, fill }, place) => (
          <path key={`carried ${place}`} d={path} fill={fill} opacity={0.85} />
        ))}
      </g>
      {drawing.bars.map(({ level, group: which, x, y, height, a, b }) => {
        const most = Math.max(a, b) || 1;
        const isDim = paths !== null && which !== null && !isOnPath(flow, level, which);
        const half = drawing.bar / 2;
        return (
          <g key={`${level} ${which}`} opacity={isDim ? 0.25 : undefined}>
            <rect x={n(x)} y={n(y)} width={drawing.bar} height={n(height)} fill={palette.rule} />
            {flow.a && (
              <rect
                x={n(x)}
                y={n(y)}
                width={flow.b ? half : drawing.bar}
                height={n((height * a) / most)}
                fill={palette.a}
              />
            )}
            {flow.b && (
              <rect
                x={n(flow.a ? x + half : x)}
                y={n(y)}
                width={flow.a ? half : drawing.bar}
                height={n((height * b) / most)}
                fill={palette.b}
              />
            )}
          </g>
        );
      })}
      {drawing.labels.map(({ level, group: which, text, x, y, anchor, size }) => (
        <text
          key={`${level} ${which}`}
          x={n(x)}
          y={n(y)}
          dy="0.35em"
          fontSize={size}
          fontWeight={which === null ? 620 : which === group ? 680 : level === 0 ? 500 : 450}
          fill={palette.ink}
          stroke={palette.paper}
          strokeWidth={3}
          strokeLinejoin="round"
          paintOrder="stroke"
          textAnchor={anchor}
          opacity={paths !== null && which !== null && !isOnPath(flow, level, which) ? 0.35 : undefined}
        >
          {text}
        </text>
      ))}
    </svg>
  );
}

interface Shape {
  path: string;
  fill: string;
  on: boolean;
}

/** One for each ribbon; of thousands, one for each colour, which is what a browser can still draw in time. */
function shapes(
  ribbons: readonly Ribbon[],
  many: boolean,
  isLit: (link: Link) => boolean,
  colour: (link: Link) => string,
  path: (ribbon: Ribbon) => string,
): Shape[] {
  const found = new Map<string, { fill: string; on: boolean; parts: string[] }>();
  for (const [place, one] of ribbons.entries()) {
    const [fill, on] = [colour(one), isLit(one)];
    const key = many ? `${fill}${on}` : String(place);
    const known = found.get(key);
    if (known) known.parts.push(path(one));
    else found.set(key, { fill, on, parts: [path(one)] });
  }
  return [...found.values()]
    .map(({ fill, on, parts }) => ({ fill, on, path: parts.join("") }))
    .filter((shape) => shape.path !== "")
    .sort((one, other) => Number(one.on) - Number(other.on));
}

function name({ layer, query, key }: Link): string {
  return `${layer} ${query} ${key}`;
}

function litLinks({ a, b, picture, paths }: Flow, pointed: Pointed | null): Set<string> | null {
  if (!pointed && !paths) return null;
  const found = new Set<string>();
  for (const one of [a, b]) {
    if (!one) continue;
    const at = pointed && linksAt(pointed.level, pointed.group, picture.of);
    for (const [layer, edges] of one.found.edges.entries()) {
      const isLogit = one.start === null && layer === one.found.edges.length - 1;
      for (let edge = 0; edge < edges.query.length; edge++) {
        const on = at ? at(one, layer, edge) : paths?.get(one)?.edges[layer]?.[edge] === 1;
        if (on)
          found.add(
            name({
              layer,
              query: isLogit ? null : picture.of[edges.query[edge]!]!,
              key: picture.of[edges.key[edge]!]!,
              a: 0,
              b: 0,
            }),
          );
      }
    }
  }
  return found;
}

function isOnPath({ paths, picture }: Flow, level: number, group: number): boolean {
  const { first, end } = picture.groups[group]!;
  return [...(paths?.values() ?? [])].some(({ nodes }) => nodes[level]?.subarray(first, end).some((on) => on === 1));
}
