import { percent } from "../../parts/numbers";
import { heads } from "./Details";
import type { Flow } from "./useFlow";

const MOST = 6;

/** One word in one layer: what it receives, and by which heads. */
export function Tip({ flow, level, group }: { flow: Flow; level: number; group: number }) {
  const { picture } = flow;
  const used = heads(flow, level, group);
  const columns = (["a", "b"] as const).filter((slot) => picture[slot]);
  return (
    <div className="tip">
      <p>
        <b>{picture.groups[group]?.label}</b> <span className="soft">in layer {picture.layers[level]}</span>
      </p>
      <table className="numbers">
        <thead>
          <tr>
            <th />
            {columns.map((slot) => (
              <th key={slot} className={`in-${slot}`}>
                {slot.toUpperCase()}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Row name="influence" values={columns.map((slot) => picture[slot]!.share[level]![group]!)} />
          <Row name="receives" values={columns.map((slot) => picture[slot]!.received[level]![group]!)} />
          {used.slice(0, MOST).map((one) => (
            <Row key={one.head} name={`head ${one.head}`} values={columns.map((slot) => one[slot])} />
          ))}
        </tbody>
      </table>
      {used.length > MOST && <p className="small soft">and {used.length - MOST} more heads</p>}
    </div>
  );
}

function Row({ name, values }: { name: string; values: readonly number[] }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      {values.map((value, place) => (
        <td key={place}>{value > 0 ? percent(value) : "–"}</td>
      ))}
    </tr>
  );
}
