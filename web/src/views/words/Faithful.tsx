import { useState } from "react";
import { useParcel } from "../../api/queries";
import type { Faithfulness, MethodInfo, Slot } from "../../api/types";
import { usePalette } from "../../design/theme";
import { Segmented } from "../../parts/Segmented";
import { Failed, Working } from "../../parts/States";
import type { Subject } from "../../state/subject";
import { curvesOf, type Way } from "./curves";

interface Props {
  subject: Subject;
  slot: Slot;
  method: string;
  titles: readonly MethodInfo[];
  onMethod: (method: string) => void;
}

/** Does the decision fall if the words that a method names are taken away? Asked for, because it takes some seconds. */
export function Faithful({ subject, slot, method, titles, onMethod }: Props) {
  const { text, pair } = subject;
  const asking = `${slot} ${text}`;
  const [asked, setAsked] = useState<string | null>(null);
  const found = useParcel<Faithfulness>("faithfulness", asked === asking ? { slot, text, pair: null } : null);
  if (pair !== null) return <p className="small soft">Words can be taken away from single texts only.</p>;
  if (asked !== asking) {
    return (
      <>
        <p className="small soft">
          Takes away the words that a method ranks highest, and watches the probability of the decision. A method that
          does no better than chance names the wrong words.
        </p>
        <button type="button" onClick={() => setAsked(asking)}>
          Put the methods to the test
        </button>
      </>
    );
  }
  if (found.error) return <Failed error={found.error} onRetry={found.retry} />;
  if (!found.data || found.stale) {
    return <Working what="Taking words away" steps={found.steps} onCancel={() => setAsked(null)} />;
  }
  return <Result parcel={found.data} {...{ method, titles, onMethod }} />;
}

const WIDTH = 232;
const HEIGHT = 112;
const CONTROL = "random";

interface ResultProps extends Pick<Props, "method" | "titles" | "onMethod"> {
  parcel: NonNullable<ReturnType<typeof useParcel<Faithfulness>>["data"]>;
}

function Result({ parcel, method, titles, onMethod }: ResultProps) {
  const palette = usePalette();
  const [way, setWay] = useState<Way>("comprehensiveness");
  const { curves, high, low, zero } = curvesOf(parcel, way, WIDTH, HEIGHT);
  const ordered = curves.toSorted((one, other) => other.aopc - one.aopc);
  const shown = curves.some((one) => one.method === method) ? method : ordered[0]!.method;
  return (
    <>
      <Segmented
        label="Words taken away"
        showLabel={false}
        value={way}
        options={[
          { value: "comprehensiveness", label: "without them", title: "The fall without the highest-ranked words" },
          {
            value: "sufficiency",
            label: "with them alone",
            title: "The fall with nothing but the highest-ranked words",
          },
        ]}
        onChange={setWay}
      />
      <svg
        viewBox={`-36 -10 ${WIDTH + 44} ${HEIGHT + 34}`}
        width="100%"
        role="img"
        aria-label={`How far the probability falls, by share of words; ${shown} against the random control`}
        fontSize={10}
        fill={palette.soft}
      >
        <line x2={WIDTH} y1={zero} y2={zero} stroke={palette.rule} />
        <text x={-4} y={3} textAnchor="end">
          {`${(high * 100).toFixed(0)} %`}
        </text>
        <text x={-4} y={zero + 3} textAnchor="end">
          0
        </text>
        {low < -0.03 && (
          <text x={-4} y={HEIGHT + 3} textAnchor="end">
            {`−${(-low * 100).toFixed(0)} %`}
          </text>
        )}
        {["0", "50 % of the words", "100"].map((text, place) => (
          <text key={text} x={(place / 2) * WIDTH} y={HEIGHT + 14} textAnchor="middle">
            {text}
          </text>
        ))}
        {curves
          .toSorted((one, other) => rank(one.method, shown) - rank(other.method, shown))
          .map((curve) => (
            <path
              key={curve.method}
              d={curve.path}
              fill="none"
              stroke={curve.method === shown ? palette.ink : curve.method === CONTROL ? palette.warning : palette.faint}
              strokeOpacity={curve.method === shown || curve.method === CONTROL ? 1 : 0.45}
              strokeWidth={curve.method === shown ? 2 : 1.2}
              strokeDasharray={curve.method === CONTROL ? "4 3" : undefined}
            />
          ))}
      </svg>
      <table className="values methods">
        <caption className="unseen">Methods by how far the probability falls</caption>
        <thead>
          <tr>
            <th scope="col" style={{ textAlign: "left", paddingLeft: 0 }}>
              method
            </th>
            <th scope="col" title="The mean fall over all shares of words taken away">
              AOPC
            </th>
          </tr>
        </thead>
        <tbody>
          {ordered.map((curve) => (
            <tr key={curve.method} data-strong={curve.method === shown || undefined}>
              <th scope="row">
                {curve.method === CONTROL ? (
                  <span className="warning">random, the control</span>
                ) : (
                  <button type="button" className="link" onClick={() => onMethod(curve.method)}>
                    {titleOf(curve.method, titles)}
                  </button>
                )}
              </th>
              <td className="numbers">{(curve.aopc * 100).toFixed(1)} %</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="small soft">{said(parcel.artifact.verdict, titles)}.</p>
    </>
  );
}

function rank(method: string, shown: string): number {
  return method === shown ? 2 : method === CONTROL ? 1 : 0;
}

export function titleOf(name: string, titles: readonly MethodInfo[]): string {
  return titles.find((one) => one.name === name)?.title ?? name.replaceAll("_", " ");
}

/** A sentence of the server with methods as they are called here. */
export function said(verdict: string, titles: readonly MethodInfo[]): string {
  const text = verdict.replace(/[a-z_]+/g, (name) => titles.find((one) => one.name === name)?.title ?? name);
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
