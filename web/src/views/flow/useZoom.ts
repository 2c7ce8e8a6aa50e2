/** Closer, and moved: by the wheel with Ctrl (or a pinch), by double click, by dragging, by + − 0. */

import { type PointerEvent, useCallback, useEffect, useRef, useState } from "react";

export interface Zoom {
  k: number;
  x: number;
  y: number;
}

const NONE: Zoom = { k: 1, x: 0, y: 0 };
const MOST = 12;
const STEP = 1.5;

export function useZoom(element: HTMLElement | null) {
  const [zoom, setZoom] = useState(NONE);
  const dragged = useRef<{ x: number; y: number; from: Zoom; moved: boolean } | null>(null);

  /** By a factor, around a place counted from the middle. */
  const by = useCallback((factor: number, x = 0, y = 0) => {
    setZoom((now) => {
      const k = Math.min(MOST, Math.max(1, now.k * factor));
      if (k === 1) return NONE;
      const part = k / now.k;
      return { k, x: x - (x - now.x) * part, y: y - (y - now.y) * part };
    });
  }, []);

  useEffect(() => {
    if (!element) return;
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = element.getBoundingClientRect();
      by(2 ** (-event.deltaY / 200), event.clientX - box.x - box.width / 2, event.clientY - box.y - box.height / 2);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [element, by]);

  const press = (event: PointerEvent) => {
    if (zoom.k === 1 || event.button !== 0) return;
    dragged.current = { x: event.clientX, y: event.clientY, from: zoom, moved: false };
  };
  /** true while the drawing is being moved. */
  const move = (event: PointerEvent): boolean => {
    const drag = dragged.current;
    if (!drag) return false;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.moved && Math.hypot(dx, dy) < 4) return false;
    drag.moved = true;
    setZoom({ ...drag.from, x: drag.from.x + dx, y: drag.from.y + dy });
    return true;
  };
  /** true if the drawing was moved, so that this was no click. */
  const release = (): boolean => {
    const moved = dragged.current?.moved ?? false;
    dragged.current = null;
    return moved;
  };
  /** By a key, or a button of that name; the first step goes towards a place worth a closer look. */
  const key = (name: string, towards: readonly [number, number] = [0, 0]): boolean => {
    if (name === "+" || name === "=") by(STEP, ...(zoom.k === 1 ? towards : ([0, 0] as const)));
    else if (name === "-" || name === "−") by(1 / STEP);
    else if (name === "0") setZoom(NONE);
    else return false;
    return true;
  };
  return { zoom, by, press, move, release, key };
}
