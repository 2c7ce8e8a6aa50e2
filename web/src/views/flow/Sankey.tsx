import { type Ref, useMemo } from "react";
import { type Palette, stepBetween } from "../../design/colour";
import type { Link } from "./links";
import { Painted, Written } from "./Painted";
import { n } from "./polar";
import type { Pointed } from "./Rings";
import { linkColour, type SankeyDrawing, sankeyShapes } from "./sankey";
import type { Flow } from "./useFlow";

interface Props {
  ref: Ref<SVGSVGElement>;
  flow: Flow;
  drawing: SankeyDrawing;
  palette: Palette;
  pointed: Pointed | null;
}

export function Sankey({ ref, flow, drawing, palette, pointed }: Props) {
  const { picture, paths, show, selected } = flow;
  const group = selected === null ? null : picture.of[selected]!;
  const { width, height } = drawing;
  const shapes = useMemo(() => {
    const colour = (link: Link) =>
      show === "diff"
        ? stepBetween(palette.difference, (link.b - link.a) / picture.most.difference)
        : linkColour(link, palette);
    const lit =
      pointed &&
      (({ layer, key, query }: Link) =>
        (layer === pointed.level && key === pointed.group) || (layer === pointed.level - 1 && query === pointed.group));
    const isCarried = !pointed && paths !== null;
    return sankeyShapes(drawing, palette, colour, lit, isCarried, (bar) => isOff(flow, bar.level, bar.group));
  }, [drawing, palette, show, picture, pointed, paths, flow]);
  return (
    <>
      <Painted shapes={shapes} width={width} height={height} />
      <svg
        ref={ref}
        className="drawing"
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
        role="img"
        aria-label={`Flow from the words at the left to ${flow.target} at the right, through ${picture.layers.length} layers.`}
        fontFamily="Inter, sans-serif"
      >
        <Written shapes={shapes} />
        {drawing.columns.map(({ x, text }, level) => (
          <text key={x} x={n(x)} y={14} fontSize={10} fill={palette.soft} textAnchor="middle">
            {level === 1 ? `layer ${text}` : text}
          </text>
        ))}
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
            opacity={isOff(flow, level, which) ? 0.35 : undefined}
          >
            {text}
          </text>
        ))}
      </svg>
    </>
  );
}

/** Is a word selected, and this not on its paths? */
function isOff({ paths, picture }: Flow, level: number, group: number | null): boolean {
  if (paths === null || group === null) return false;
  const { first, end } = picture.groups[group]!;
  return ![...paths.values()].some(({ nodes }) => nodes[level]?.subarray(first, end).some((on) => on === 1));
}
