/** Drawings as text that can be kept: marks alone, with rounded numbers. */

import { createElement, type FunctionComponent } from "react";
import { renderToStaticMarkup } from "react-dom/server";

export function drawn<P extends object>(Marks: FunctionComponent<P>, props: P): string {
  return renderToStaticMarkup(createElement("svg", null, createElement(Marks, props)))
    .replace(/-?\d+\.\d+/g, (number) => String(Number(Number(number).toFixed(1))))
    .replace(/></g, ">\n<");
}
