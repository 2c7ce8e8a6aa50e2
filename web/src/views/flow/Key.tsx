import type { Palette } from "../../design/colour";
import { Legend } from "../../parts/Legend";
import { percent } from "../../parts/numbers";
import type { Flow } from "./useFlow";
import type { useZoom } from "./useZoom";

interface Props {
  flow: Flow;
  palette: Palette;
  zoom: ReturnType<typeof useZoom>;
  draw: "rings" | "sankey";
  onZoom: (key: string) => void;
}

/** What the colours stand for, in numbers; and how near one is. */
export function Key({ flow, palette, zoom, draw, onZoom }: Props) {
  const { most } = flow.picture;
  const both = flow.a && flow.b;
  const from = percent(flow.threshold);
  return (
    <div className="key">
      {flow.show === "diff" ? (
        <Legend
          label="B − A"
          scale={palette.difference}
          from={`−${percent(most.difference)}`}
          to={`+${percent(most.difference)}`}
        />
      ) : (
        <>
          {flow.a && (
            <Legend
              label={both ? "A" : "A: share"}
              scale={palette.amountsA.slice(2)}
              from={from}
              to={percent(most.strength)}
            />
          )}
          {flow.b && (
            <Legend
              label={both ? "B" : "B: share"}
              scale={palette.amountsB.slice(2)}
              from={from}
              to={percent(most.strength)}
            />
          )}
          {both && (
            <span className="small soft both">
              <i style={{ background: palette.both }} /> both
            </span>
          )}
        </>
      )}
      {draw === "rings" && <span className="small soft numbers">lines: received, up to {percent(most.received)}</span>}
      <span className="zoom" role="group" aria-label="Zoom" hidden={draw !== "rings"}>
        <button
          type="button"
          className="quiet"
          aria-label="Zoom out"
          disabled={zoom.zoom.k === 1}
          onClick={() => onZoom("-")}
        >
          −
        </button>
        <button
          type="button"
          className="quiet numbers"
          aria-label="Zoom to fit"
          disabled={zoom.zoom.k === 1}
          onClick={() => onZoom("0")}
        >
          {Math.round(zoom.zoom.k * 100)} %
        </button>
        <button type="button" className="quiet" aria-label="Zoom in" onClick={() => onZoom("+")}>
          +
        </button>
      </span>
    </div>
  );
}
