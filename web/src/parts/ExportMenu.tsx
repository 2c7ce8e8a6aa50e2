import { usePalette } from "../design/theme";
import { type Cell, csv } from "../export/csv";
import { fontFaces, pngBlob } from "../export/png";
import { save } from "../export/save";
import { svgText } from "../export/svg";
import { Popover } from "./Popover";

export interface Table {
  header: readonly string[];
  rows: Iterable<readonly Cell[]>;
}

interface Props {
  /** How the files are called, before the dot. */
  name: string;
  caption: string;
  drawing?: () => SVGSVGElement | null;
  /** What its colours stand for, where that stands outside of it. */
  legend?: () => SVGSVGElement | null;
  table?: () => Table;
}

/** The drawing as SVG or PNG, and the numbers behind it as CSV. */
export function ExportMenu({ name, caption, drawing, legend, table }: Props) {
  const { paper, soft } = usePalette();
  const figure = () => ({ caption, ground: paper, ink: soft, legend: legend?.() ?? null });
  const svg = () => {
    const element = drawing?.();
    if (element) save(svgText(element, figure()), `${name}.svg`, "image/svg+xml");
  };
  const png = async () => {
    const element = drawing?.();
    if (element) save(await pngBlob(svgText(element, { ...figure(), fonts: await fontFaces() })), `${name}.png`);
  };
  const data = () => {
    const found = table?.();
    if (found) save(csv(found.header, found.rows), `${name}.csv`, "text/csv");
  };
  return (
    <Popover button="Export" className="export" align="end">
      {(close) => (
        <ul className="menu">
          {drawing && <Item close={close} act={svg} label="Drawing as SVG" />}
          {drawing && <Item close={close} act={() => void png()} label="Drawing as PNG" />}
          {table && <Item close={close} act={data} label="Numbers as CSV" />}
        </ul>
      )}
    </Popover>
  );
}

function Item({ close, act, label }: { close: () => void; act: () => void; label: string }) {
  return (
    <li>
      <button
        type="button"
        className="quiet"
        onClick={() => {
          act();
          close();
        }}
      >
        {label}
      </button>
    </li>
  );
}
