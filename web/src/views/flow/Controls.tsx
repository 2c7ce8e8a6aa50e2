import { memo } from "react";
import type { Maps } from "../../api/types";
import { HeadChooser } from "../../parts/HeadChooser";
import { LayerBrush } from "../../parts/LayerBrush";
import { Segmented } from "../../parts/Segmented";
import { Threshold } from "../../parts/Threshold";
import { UnitChooser } from "../../parts/UnitChooser";
import { useDragging } from "../../state/dragging";
import { useStore } from "../../state/store";
import type { Subject } from "../../state/subject";
import { DRAWINGS, LOGIT, readings, SHOWN } from "./options";
import type { Flow } from "./useFlow";

export function Controls({ subject, flow }: { subject: Subject; flow: Flow }) {
  const choose = useStore((state) => state.choose);
  const draw = useStore((state) => state.draw);
  const show = useStore((state) => state.show);
  const layers = useStore((state) => state.layers);
  const heads = useStore((state) => state.heads);
  const { drag, end } = useDragging();
  const { models, measure, reading } = subject;
  const perHead = flow.maps.heads.length > 0;
  return (
    <>
      <Segmented label="Drawing" value={draw} options={DRAWINGS} onChange={(value) => choose({ draw: value })} />
      {models.b && (
        <Segmented label="Models" value={show} options={SHOWN} onChange={(value) => choose({ show: value })} />
      )}
      <TargetPicker subject={subject} maps={flow.maps} />
      <Threshold
        label="Threshold"
        value={flow.threshold}
        histogram={flow.histogram}
        passing={passing(flow)}
        onChange={(threshold) => drag({ threshold })}
        onEnd={end}
      />
      <LayerBrush
        count={flow.maps.layers.length}
        value={layers}
        onChange={(value) => drag({ layers: value })}
        onEnd={end}
      />
      {perHead && (
        <HeadChooser count={flow.maps.heads.length} value={heads} onChange={(value) => choose({ heads: value })} />
      )}
      <Segmented
        label="Reading"
        value={reading}
        options={readings(subject, flow.maps.tokens.labels.length)}
        onChange={(value) => choose({ reading: value, threshold: null })}
      />
      <UnitChooser subject={subject} measure={measure} />
      {!perHead && (
        <p className="small soft">
          {reading === "direct"
            ? `${capital(measure.title)} is of all heads together.`
            : "Through layers, the heads are taken together."}
        </p>
      )}
      {flow.remark && <p className="small problem">{flow.remark}</p>}
      {flow.threshold < flow.maps.floor && (
        <p className="small problem">
          In a text this long only the {flow.maps.kept} strongest of each token are drawn: below{" "}
          {(flow.maps.floor * 100).toFixed(1)} % some are missing.
        </p>
      )}
    </>
  );
}

/** While something else is dragged, its hundreds of options stay as they are. */
const TargetPicker = memo(function TargetPicker({ subject, maps }: { subject: Subject; maps: Maps }) {
  const target = useStore((state) => state.target);
  const choose = useStore((state) => state.choose);
  const { labels } = maps.tokens;
  const standard = labels[maps.default_target] ?? "";
  const { a, b } = subject.models;
  const classes = [...new Set([...(b?.classes ?? []), ...a.classes])];
  const decides = a.has_logits || b?.has_logits;
  const value = target?.startsWith(LOGIT) || labels.includes(target ?? "") ? target! : standard;
  return (
    <div className="target">
      <label htmlFor="target">
        <h3>Target</h3>
      </label>
      <select
        id="target"
        value={value}
        onChange={(event) => choose({ target: event.target.value === standard ? null : event.target.value })}
      >
        {decides && subject.reading !== "flow" && (
          <optgroup label="A decision">
            {classes.map((name) => (
              <option key={name} value={`${LOGIT}${name}`}>
                {name}
              </option>
            ))}
            {classes.length === 0 && <option value={LOGIT}>what the model predicts</option>}
          </optgroup>
        )}
        <optgroup label="A token after the last layer">
          {labels.map((label) => (
            <option key={label} value={label}>
              {label}
            </option>
          ))}
        </optgroup>
      </select>
    </div>
  );
});

const COUNT = new Intl.NumberFormat("en");

function passing({ a, b }: Flow): string {
  const count = (one: Flow["a"]) => one?.found.edges.reduce((sum, { query }) => sum + query.length, 0) ?? 0;
  const counts = [a && `A ${COUNT.format(count(a))}`, b && `B ${COUNT.format(count(b))}`].filter((text) => text);
  return `links: ${counts.join(" · ")}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
