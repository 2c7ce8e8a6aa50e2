/** Beside the drawing: the text, shaded by what is reached, and what is known of the selected word. */

import { type KeyboardEvent, memo, useMemo } from "react";
import { type Palette, step, stepBetween } from "../../design/colour";
import { percent } from "../../parts/numbers";
import { isFromTheRight } from "../../parts/tokens";
import { useStore } from "../../state/store";
import { Anatomy } from "./Anatomy";
import { plain } from "./groups";
import type { Flow } from "./useFlow";

export const Details = memo(function Details({ flow, palette }: { flow: Flow; palette: Palette }) {
  // The story explains what is to be seen, and stands where this would.
  const isExplained = useStore((state) => state.draw === "rings" && state.story === null);
  return (
    <>
      <Sentence flow={flow} palette={palette} />
      {flow.selected === null ? (
        <>
          <Leading flow={flow} palette={palette} />
          {isExplained && <Anatomy flow={flow} palette={palette} />}
        </>
      ) : (
        <OneWord flow={flow} palette={palette} token={flow.selected} />
      )}
    </>
  );
});

/** The text; each word is as deep as it is reached. */
function Sentence({ flow, palette }: { flow: Flow; palette: Palette }) {
  const { tokens } = flow.main;
  const choose = useStore((state) => state.choose);
  const point = useStore((state) => state.point);
  const hover = useStore((state) => state.hover?.word ?? null);
  const most = useMemo(() => largest(flow), [flow]);
  const keys = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const next = ((flow.selected ?? (by > 0 ? -1 : 0)) + by + tokens.labels.length) % tokens.labels.length;
    choose({ word: tokens.labels[next]! }, { quiet: flow.selected !== null });
    document.getElementById(`token-${next}`)?.focus();
  };
  return (
    <div
      className="sentence"
      role="group"
      aria-label="Words of the text, as deep as they are reached"
      onKeyDown={keys}
      dir={isFromTheRight(tokens.labels.filter((_, place) => !tokens.special[place])) ? "rtl" : "ltr"}
    >
      {tokens.labels.map((label, place) => (
        <button
          key={label}
          id={`token-${place}`}
          type="button"
          tabIndex={place === (flow.selected ?? 0) ? 0 : -1}
          aria-pressed={place === flow.selected}
          data-joined={(!tokens.starts_word[place] && place > 0) || undefined}
          data-hover={hover === label || undefined}
          style={{ background: shade(flow, palette, place, most), color: ink(flow, palette, place, most) }}
          onClick={() => choose({ word: place === flow.selected ? null : label })}
          onPointerEnter={() => point({ word: label, layer: flow.main.layers[0]! })}
          onPointerLeave={() => point(null)}
        >
          {plain(label)}
        </button>
      ))}
    </div>
  );
}

function largest({ a, b }: Flow): number {
  return Math.max(1e-6, ...[a, b].map((one) => one?.share[0]?.reduce((x, y) => Math.max(x, y), 0) ?? 0));
}

function amounts({ a, b }: Flow, token: number): [number, number] {
  return [a?.share[0]?.[token] ?? 0, b?.share[0]?.[token] ?? 0];
}

function depth(flow: Flow, token: number, most: number): number {
  const [a, b] = amounts(flow, token);
  return flow.a && flow.b ? (a + b) / 2 / most : (a + b) / most;
}

function shade(flow: Flow, palette: Palette, token: number, most: number): string {
  const [a, b] = amounts(flow, token);
  if (flow.show === "diff") return stepBetween(palette.difference, (0.7 * (b - a)) / most);
  const scale = a > 0 && b > 0 ? palette.amountsBoth : a > 0 ? palette.amountsA : b > 0 ? palette.amountsB : null;
  return scale ? step(scale, 0.1 + 0.6 * depth(flow, token, most)) : "transparent";
}

function ink(flow: Flow, palette: Palette, token: number, most: number): string {
  const [a, b] = amounts(flow, token);
  if (a === 0 && b === 0) return palette.faint;
  const amount = flow.show === "diff" ? (0.7 * Math.abs(b - a)) / most : 0.1 + 0.6 * depth(flow, token, most);
  return amount > 0.45 ? palette.paper : palette.ink;
}

const SHOWN = 10;

/** The words that are reached most. */
function Leading({ flow, palette }: { flow: Flow; palette: Palette }) {
  const { picture, groups } = flow;
  const choose = useStore((state) => state.choose);
  const point = useStore((state) => state.point);
  const hover = useStore((state) => state.hover?.word ?? null);
  const rows = groups
    .map(({ label, first }, place) => ({
      label,
      first,
      a: picture.a?.share[0]?.[place] ?? 0,
      b: picture.b?.share[0]?.[place] ?? 0,
    }))
    .filter(({ a, b }) => a > 0 || b > 0)
    .sort((one, other) =>
      flow.show === "diff" ? Math.abs(other.b - other.a) - Math.abs(one.b - one.a) : other.a + other.b - one.a - one.b,
    )
    .slice(0, SHOWN);
  const most = Math.max(1e-6, ...rows.flatMap(({ a, b }) => [a, b]));
  if (rows.length === 0)
    return <p className="soft">No word passes the threshold through all layers. Lower it to see more.</p>;
  return (
    <div className="leading">
      <h3>
        What reaches “{flow.target}”<span className="soft"> · share of influence</span>
      </h3>
      <table>
        <thead className="unseen">
          <tr>
            <th>word</th>
            <th>bars</th>
            {flow.a && <th>A</th>}
            {flow.b && <th>B</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ label, first, a, b }) => (
            <tr
              key={first}
              data-hover={hover === flow.main.tokens.labels[first] || undefined}
              onPointerEnter={() => point({ word: flow.main.tokens.labels[first]!, layer: flow.main.layers[0]! })}
              onPointerLeave={() => point(null)}
            >
              <th scope="row">
                <button
                  type="button"
                  className="quiet"
                  onClick={() => choose({ word: flow.main.tokens.labels[first]! })}
                >
                  {label}
                </button>
              </th>
              <td>
                <Bars a={flow.a && a / most} b={flow.b && b / most} palette={palette} />
              </td>
              {flow.a && <td className="numbers in-a">{a > 0 ? percent(a) : "–"}</td>}
              {flow.b && <td className="numbers in-b">{b > 0 ? percent(b) : "–"}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Bars({ a, b, palette, width = 64 }: { a: number | null; b: number | null; palette: Palette; width?: number }) {
  const tall = a !== null && b !== null ? 4 : 8;
  return (
    <svg width={width} height={9} aria-hidden="true">
      {a !== null && <rect width={width * a} height={tall} fill={palette.a} rx={1} />}
      {b !== null && <rect y={a !== null ? 5 : 0} width={width * b} height={tall} fill={palette.b} rx={1} />}
    </svg>
  );
}

/** Layer by layer: what the selected word is to the target, and which heads use it. */
function OneWord({ flow, palette, token }: { flow: Flow; palette: Palette; token: number }) {
  const { picture, main } = flow;
  const choose = useStore((state) => state.choose);
  const group = picture.of[token]!;
  const rows = picture.layers.map((layer, level) => ({
    layer,
    a: picture.a?.share[level]?.[group] ?? 0,
    b: picture.b?.share[level]?.[group] ?? 0,
    heads: heads(flow, level, group),
  }));
  const most = Math.max(1e-6, ...rows.flatMap(({ a, b }) => [a, b]));
  return (
    <div className="leading">
      <div className="label-row">
        <h2>{picture.groups[group]?.label ?? main.tokens.labels[token]}</h2>
        <button type="button" className="link" onClick={() => choose({ word: null })}>
          let go
        </button>
      </div>
      <h3>
        By layer <span className="soft">· share of influence, heads that use it</span>
      </h3>
      {rows.every(({ a, b }) => a === 0 && b === 0) && (
        <p className="small soft">At this threshold no path leads from it to {flow.target}. Lower it to see more.</p>
      )}
      <table>
        <tbody>
          {rows.toReversed().map(({ layer, a, b, heads: used }) => (
            <tr key={layer}>
              <th scope="row" className="numbers soft">
                {layer}
              </th>
              <td>
                <Bars a={flow.a && a / most} b={flow.b && b / most} palette={palette} width={56} />
              </td>
              {flow.a && <td className="numbers in-a">{a > 0 ? percent(a) : "–"}</td>}
              {flow.b && <td className="numbers in-b">{b > 0 ? percent(b) : "–"}</td>}
              <td className="used">
                {used.map(({ head, where }) => (
                  <span key={head} className={where === "both" ? undefined : `in-${where}`}>
                    {head}
                  </span>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export interface Used {
  head: number;
  where: "a" | "b" | "both";
  a: number;
  b: number;
}

/** Which heads of a layer use a group, the strongest first. */
export function heads({ picture, maps, main }: Flow, level: number, group: number): Used[] {
  const isLogit = main.start === null && level === picture.layers.length - 1;
  if (maps.heads.length === 0 || isLogit) return [];
  const size = picture.groups.length;
  return Array.from({ length: picture.heads[level]! }, (_, head) => ({
    head: maps.heads[head] ?? head + 1,
    a: picture.a?.strength[level]?.[head * size + group] ?? 0,
    b: picture.b?.strength[level]?.[head * size + group] ?? 0,
  }))
    .filter(({ a, b }) => a > 0 || b > 0)
    .map((one) => ({
      ...one,
      where: one.a > 0 && one.b > 0 ? ("both" as const) : one.a > 0 ? ("a" as const) : ("b" as const),
    }))
    .sort((one, other) => Math.max(other.a, other.b) - Math.max(one.a, one.b));
}
