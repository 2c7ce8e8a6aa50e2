import { memo } from "react";
import { type Palette, step } from "../../design/colour";
import { percent } from "../../parts/numbers";
import { fitted, type Measure } from "../flow/lettering";
import { type BarsLayout, type ColumnPlace, LABEL, REACH, type TextLayout, TYPE, type WordBox } from "./layout";
import type { Column, Decision, Row, Rows, Series } from "./rows";

const TABULAR = { fontVariantNumeric: "tabular-nums" } as const;

interface Props {
  found: Rows;
  texts: readonly TextLayout[];
  bars: BarsLayout;
  palette: Palette;
  /** The label of the word that is pointed at or selected. */
  strong: string | null;
  received: "all" | "last";
  measure: Measure;
  width: number;
}

/** Everything that is drawn: the shaded texts, and the bars. */
export function WordMarks(props: Props) {
  return (
    <>
      <Hatching palette={props.palette} />
      {props.texts.map((text) => (
        <ShadedText key={text.series} text={text} {...props} />
      ))}
      <Bars {...props} />
    </>
  );
}

/** What speaks against is hatched and hangs below the line; what speaks for is filled and stands above it. */
function Hatching({ palette }: { palette: Palette }) {
  return (
    <defs>
      {(["a", "b"] as const).map((slot) => (
        <pattern
          key={slot}
          id={`against-${slot}`}
          width={5}
          height={5}
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect width={5} height={5} fill={palette.paper} />
          <rect width={1.6} height={5} fill={palette[slot]} />
        </pattern>
      ))}
    </defs>
  );
}

function ShadedText({ text, found, palette, strong }: Props & { text: TextLayout }) {
  const decision = found.decisions.find(({ slot }) => slot === text.series);
  const slot = text.series === "b" ? "b" : "a";
  return (
    <g>
      <text y={text.top + 12} fontSize={12} fill={palette.soft}>
        <tspan fontWeight={620} fill={text.series === "diff" ? palette.ink : palette[slot]}>
          {text.series === "diff" ? "B − A" : slot.toUpperCase()}
        </tspan>
        <tspan dx={8} fill={palette.ink} fontWeight={500}>
          {text.series === "diff"
            ? "teal above the line: more in B, purple below: more in A"
            : decision &&
              `what speaks for ${decision.target} stands above the line, what speaks against it hangs below`}
        </tspan>
      </text>
      {text.boxes.map((box) => (
        <OneWord
          key={box.row.label}
          {...{ box, palette, slot }}
          diff={text.series === "diff"}
          strong={strong === box.row.label}
        />
      ))}
    </g>
  );
}

interface OneWordProps {
  box: WordBox;
  palette: Palette;
  slot: "a" | "b";
  diff: boolean;
  strong: boolean;
}

const OneWord = memo(function OneWord({ box, palette, slot, diff, strong }: OneWordProps) {
  const { row, x, y, width, height, amount } = box;
  const reach = Math.abs(amount) * REACH;
  const ground = Math.abs(amount) * (palette.theme === "dark" ? 0.34 : 0.36);
  const against = amount < 0;
  const scale = (diff ? against : slot === "a") ? palette.amountsA : palette.amountsB;
  return (
    <g>
      <rect x={x} y={y} width={width} height={height} fill={against && !diff ? palette.field : step(scale, ground)} />
      {reach >= 0.5 && (
        <rect
          x={x + 0.5}
          y={against ? y + height : y - reach}
          width={width - 1}
          height={reach}
          fill={diff ? (against ? palette.a : palette.b) : against ? `url(#against-${slot})` : palette[slot]}
          {...(against && !diff && { stroke: palette[slot], strokeWidth: 0.75 })}
        />
      )}
      <text
        x={x + width / 2}
        y={y + 15}
        textAnchor="middle"
        fontSize={row.special ? TYPE - 4 : TYPE}
        fontWeight={strong ? 640 : 400}
        fill={row.special ? palette.soft : palette.ink}
      >
        {row.name}
      </text>
      {strong && (
        <rect data-screen-only="" x={x} y={y} width={width} height={height} fill="none" stroke={palette.ink} />
      )}
    </g>
  );
});

function titles(found: Rows, received: Props["received"]): Record<Column, [string, string]> {
  const targets = [...new Set(found.decisions.map(({ target }) => target))];
  const [decision] = found.decisions;
  return {
    contribution: [
      found.signed
        ? `adds to ${targets.join(" / ") || "the logit"}`
        : `matters for ${targets.join(" / ") || "the decision"}`,
      found.signed && decision ? "in logits" : "a ranking, without sign",
    ],
    weight: ["by weight α", received === "all" ? "received, mean over layers" : `from ${found.deciding}, last layer`],
    norm: ["by norm ‖Σαf‖", received === "all" ? "received, mean over layers" : `from ${found.deciding}, last layer`],
  };
}

function Bars({ found, bars, palette, strong, received, measure, width }: Props) {
  const head = titles(found, received);
  const y = (place: number) => bars.top + bars.head + place * bars.row;
  const end = y(found.rows.length);
  return (
    <g>
      {bars.columns.map((place) => (
        <g key={place.column}>
          <text
            x={place.signed ? place.zero : place.left}
            y={bars.top + 14}
            fontSize={12}
            fontWeight={560}
            textAnchor={place.signed ? "middle" : "start"}
            fill={palette.ink}
          >
            {head[place.column][0]}
          </text>
          <text
            x={place.signed ? place.zero : place.left}
            y={bars.top + 30}
            fontSize={10}
            textAnchor={place.signed ? "middle" : "start"}
            fill={palette.soft}
          >
            {found.series[place.column].includes("diff") ? "B − A" : head[place.column][1]}
          </text>
          <line
            x1={place.zero}
            x2={place.zero}
            y1={bars.top + bars.head - 4}
            y2={end + (place.column === "contribution" && bars.ends.length ? 12 + bars.row : 0)}
            stroke={palette.rule}
          />
        </g>
      ))}
      {found.rows.map((row, place) => (
        <OneRow
          key={row.label}
          {...{ row, place, found, bars, palette, measure, width }}
          strong={strong === row.label}
        />
      ))}
      {bars.ends.length > 0 && <Ends {...{ found, bars, palette, end }} />}
    </g>
  );
}

interface OneRowProps extends Pick<Props, "found" | "bars" | "palette" | "measure" | "width"> {
  row: Row;
  place: number;
  strong: boolean;
}

/** Drawn again only where something about it changes: texts have many words, and the pointer is quick. */
const OneRow = memo(function OneRow({ row, place, strong, found, bars, palette, measure, width }: OneRowProps) {
  const top = bars.top + bars.head + place * bars.row;
  return (
    <g>
      {strong && <rect data-screen-only="" y={top} width={width} height={bars.row} fill={palette.field} />}
      <text
        x={bars.labels}
        y={top + bars.row / 2 + 4}
        fontSize={12}
        textAnchor="end"
        fontWeight={strong ? 620 : 400}
        fill={row.special ? palette.soft : palette.ink}
      >
        {fitted(row.name, 12, LABEL, measure)}
      </text>
      {bars.columns.map((column) => (
        <RowBars
          key={column.column}
          series={found.series[column.column]}
          values={row.values[column.column]}
          {...{ column, palette, top }}
          row={bars.row}
        />
      ))}
    </g>
  );
});

interface RowBarsProps {
  series: readonly Series[];
  values: Row["values"][Column];
  column: ColumnPlace;
  palette: Palette;
  top: number;
  row: number;
}

function RowBars({ series, values, column, palette, top, row }: RowBarsProps) {
  const thick = series.length > 1 ? 8 : 10;
  const first = top + (row - thick * series.length - (series.length - 1)) / 2;
  return series.map((name, place) => {
    const value = values[name] ?? 0;
    return (
      <Bar
        key={name}
        value={value}
        text={column.column === "contribution" ? signedNumber(value, column.signed) : shareOf(value, column.signed)}
        y={first + place * (thick + 1)}
        thick={thick}
        {...{ column, palette, name }}
      />
    );
  });
}

interface BarProps {
  value: number;
  text: string;
  y: number;
  thick: number;
  column: ColumnPlace;
  palette: Palette;
  name: Series;
}

function Bar({ value, text, y, thick, column, palette, name }: BarProps) {
  const length = Math.abs(value) * column.scale;
  const left = value < 0 ? column.zero - length : column.zero;
  const colour = name === "diff" ? (value < 0 ? palette.a : palette.b) : palette[name];
  const against = value < 0 && name !== "diff";
  return (
    <>
      <rect
        x={left}
        y={y + (against ? 0.5 : 0)}
        width={Math.max(length, 0.5)}
        height={thick - (against ? 1 : 0)}
        fill={against ? `url(#against-${name})` : colour}
        {...(against && { stroke: colour, strokeWidth: 1 })}
      />
      <text
        x={value < 0 ? left - 5 : left + length + 5}
        y={y + thick / 2 + 3.5}
        fontSize={10}
        textAnchor={value < 0 ? "end" : "start"}
        fill={palette.soft}
        style={TABULAR}
      >
        {text}
      </text>
    </>
  );
}

/** The bias as a row of its own, and what words and biases come to. */
function Ends({ found, bars, palette, end }: { found: Rows; bars: BarsLayout; palette: Palette; end: number }) {
  const column = bars.columns.find((one) => one.column === "contribution")!;
  const biased = found.decisions.filter((one): one is Decision & { bias: number } => one.bias !== null);
  const bottom = end + 12;
  const thick = biased.length > 1 ? 8 : 10;
  return (
    <g>
      <line x1={0} x2={column.left + column.width} y1={end + 5} y2={end + 5} stroke={palette.rule} />
      <text x={bars.labels} y={bottom + bars.row / 2 + 4} fontSize={12} textAnchor="end" fill={palette.soft}>
        biases
      </text>
      {biased.map(({ slot, bias }, place) => (
        <Bar
          key={slot}
          value={bias}
          text={signedNumber(bias, true)}
          y={bottom + (bars.row - thick * biased.length - (biased.length - 1)) / 2 + place * (thick + 1)}
          thick={thick}
          {...{ column, palette }}
          name={slot}
        />
      ))}
      <text x={bars.labels} y={bottom + bars.row * 1.5 + 4} fontSize={12} textAnchor="end" fill={palette.soft}>
        together
      </text>
      <text x={column.left + 12} y={bottom + bars.row * 1.5 + 4} fontSize={12} fill={palette.ink}>
        {biased.map(({ slot, sum, bias, value, target }, place) => (
          <tspan key={slot} dx={place ? 16 : 0} style={TABULAR}>
            {biased.length > 1 ? `${slot.toUpperCase()} ` : ""}
            {signedNumber(sum, false)} {bias < 0 ? "−" : "+"} {Math.abs(bias).toFixed(2)} ={" "}
            <tspan fontWeight={620}>{signedNumber(value, false)}</tspan>, the logit of {target}
          </tspan>
        ))}
      </text>
    </g>
  );
}

export function signedNumber(value: number, plus: boolean): string {
  const size = Math.abs(value).toFixed(2);
  return `${value < 0 && Number(size) !== 0 ? "−" : plus && Number(size) !== 0 ? "+" : ""}${size}`;
}

function shareOf(value: number, signed: boolean): string {
  return `${signed && value > 0.0005 ? "+" : ""}${percent(value)}`;
}
