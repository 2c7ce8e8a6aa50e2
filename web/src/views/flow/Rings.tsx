import { memo, type Ref, useMemo } from "react";
import type { Palette } from "../../design/colour";
import { measured } from "./lettering";
import { carriedLinks, type Link, linksAt } from "./links";
import { Painted, Written } from "./Painted";
import { n, sector } from "./polar";
import { type Frame, type Label, linkPath, type Marks, marks } from "./rings";
import { linkColour } from "./sankey";
import type { Flow } from "./useFlow";

export interface Pointed {
  level: number;
  group: number;
}

interface Props {
  ref: Ref<SVGSVGElement>;
  flow: Flow;
  frame: Frame;
  palette: Palette;
  pointed: Pointed | null;
}

export function Rings({ ref, flow, frame, palette, pointed }: Props) {
  const { picture, show, selected, from, a, b } = flow;
  const group = selected === null ? null : picture.of[selected]!;
  const lit = useMemo(() => litGroups(flow), [flow]);
  const drawn = useMemo(
    () => marks(frame, picture, { difference: show === "diff", palette, measure: measured, lit, selected: group }),
    [frame, picture, show, palette, lit, group],
  );
  const links = useMemo(() => {
    if (pointed) return linksAt(a, b, picture.of, pointed.level, pointed.group);
    if (!from) return [];
    const found = carriedLinks(a, b, picture.of, picture.groups.length, from);
    const most = found.reduce((largest, link) => Math.max(largest, link.a, link.b), 1e-9);
    // The widest only: all of them would hide each other. What else lies on the paths is not dimmed.
    return found
      .map((link) => ({ ...link, a: link.a / most, b: link.b / most }))
      .filter((link) => Math.max(link.a, link.b) > 0.03)
      .sort((one, other) => Math.max(other.a, other.b) - Math.max(one.a, one.b))
      .slice(0, 4 * picture.layers.length);
  }, [a, b, picture, from, pointed]);
  const { width, height, cx, cy } = frame;
  const ring = pointed && frame.rings[pointed.level];
  return (
    <>
      <Painted shapes={drawn.shapes} width={width} height={height} x={cx} y={cy} />
      <svg
        ref={ref}
        className="drawing"
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
        role="img"
        aria-label={spoken(flow)}
        fontFamily="Inter, sans-serif"
      >
        <g transform={`translate(${n(cx)} ${n(cy)})`}>
          <Written shapes={drawn.shapes} />
          <Lettering drawn={drawn} frame={frame} palette={palette} />
          <Links links={links} frame={frame} palette={palette} />
          {ring && (
            <path
              data-screen-only=""
              d={sector(frame.from[pointed.group] ?? 0, frame.to[pointed.group] ?? 0, ring.inner, ring.outer)}
              fill="none"
              stroke={palette.ink}
              strokeWidth={1.2}
            />
          )}
          <Centre flow={flow} frame={frame} palette={palette} />
        </g>
      </svg>
    </>
  );
}

function Lettering({ drawn, frame, palette }: { drawn: Marks; frame: Frame; palette: Palette }) {
  return (
    <>
      {drawn.labels.map((label) => (
        <Word key={label.key} label={label} palette={palette} />
      ))}
      {drawn.layers.map(({ text, x, y }, place) => (
        <text
          key={text}
          x={x}
          y={n(y)}
          dy="0.35em"
          fontSize={frame.rings.length > 8 ? 8.5 : 10}
          fill={palette.soft}
          textAnchor="middle"
        >
          {place === 0 ? `layer ${text}` : text}
        </text>
      ))}
    </>
  );
}

/** Most words stay as they are while something is dragged. */
const Word = memo(
  function Word({ label, palette }: { label: Label; palette: Palette }) {
    const { key, text, size, dim, strong, idle, along, spoke } = label;
    if (along) {
      return (
        <g opacity={dim ? 0.35 : undefined}>
          <path id={`along-${key}`} d={along} fill="none" />
          <text
            fontSize={size}
            fontWeight={strong ? 680 : 500}
            fill={idle ? palette.faint : size > 10 ? palette.ink : palette.soft}
            textAnchor="middle"
          >
            <textPath href={`#along-${key}`} startOffset="50%">
              {text}
            </textPath>
          </text>
        </g>
      );
    }
    if (!spoke) return null;
    return (
      <text
        transform={`translate(${n(spoke.x)} ${n(spoke.y)}) rotate(${n(spoke.turn)})`}
        dy="0.35em"
        fontSize={n(size)}
        fontWeight={strong ? 680 : 450}
        fill={idle ? palette.faint : key.startsWith("w") ? palette.ink : palette.soft}
        textAnchor={spoke.anchor}
        opacity={dim ? 0.35 : undefined}
      >
        {text}
      </text>
    );
  },
  (one, other) => one.palette === other.palette && isSame(one.label, other.label),
);

function isSame(one: Label, other: Label): boolean {
  const { spoke: a, ...plain } = one;
  const { spoke: b, ...others } = other;
  const alike = (Object.keys(plain) as (keyof typeof plain)[]).every((name) => plain[name] === others[name]);
  return alike && a?.x === b?.x && a?.y === b?.y && a?.turn === b?.turn;
}

function Links({ links, frame, palette }: { links: readonly Link[]; frame: Frame; palette: Palette }) {
  const drawn = useMemo(() => {
    const found = new Map<string, { colour: string; width: number; path: string }>();
    for (const link of links) {
      const colour = linkColour(link, palette);
      const width = 0.5 + Math.round(Math.sqrt(Math.max(link.a, link.b)) * 8) * 0.5;
      const key = `${colour}${width}`;
      const one = found.get(key) ?? { colour, width, path: "" };
      one.path += linkPath(frame, link.layer, link.key, link.query);
      found.set(key, one);
    }
    return [...found.values()].sort((one, other) => one.width - other.width);
  }, [links, frame, palette]);
  return (
    <g fill="none" strokeLinecap="round" className="links">
      {drawn.map(({ colour, width, path }) => (
        <path
          key={`${colour}${width}`}
          d={path}
          stroke={colour}
          strokeWidth={width}
          opacity={Math.min(0.95, 0.3 + width * 0.16)}
        />
      ))}
    </g>
  );
}

function Centre({ flow, frame, palette }: { flow: Flow; frame: Frame; palette: Palette }) {
  const { target } = flow;
  const room = frame.hole * 1.7;
  const size = Math.min(13, room / Math.max(1, measured(target, 1)));
  return (
    <>
      <circle r={n(frame.hole - 5)} fill={palette.field} />
      <text fontSize={n(size)} fontWeight={620} fill={palette.ink} textAnchor="middle" dy="0.35em">
        {target}
      </text>
    </>
  );
}

/** By level and group: what is on the selected word's paths. */
export function litGroups({ paths, picture }: Flow): Uint8Array[] | null {
  if (!paths) return null;
  return picture.layers.map((_, level) => {
    const found = new Uint8Array(picture.groups.length);
    for (const { nodes } of paths.values()) {
      nodes[level]?.forEach((on, token) => {
        if (on) found[picture.of[token]!] = 1;
      });
    }
    return found;
  });
}

function spoken({ target, picture, groups }: Flow): string {
  const level = (picture.a ?? picture.b)?.share[0];
  const leading = groups
    .map(({ label }, place) => ({ label, share: level?.[place] ?? 0 }))
    .sort((one, other) => other.share - one.share)
    .slice(0, 3)
    .map(({ label }) => label);
  return `Token rings of ${picture.layers.length} layers around ${target}. Most reached: ${leading.join(", ")}.`;
}
