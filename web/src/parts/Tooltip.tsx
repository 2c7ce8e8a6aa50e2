import { type ReactNode, useLayoutEffect, useRef } from "react";

interface Props {
  /** In the window. */
  x: number;
  y: number;
  children: ReactNode;
}

const AWAY = 14;
const EDGE = 8;

/** What lies under the pointer, in words; never under the pointer itself, and never outside the window. */
export function Tooltip({ x, y, children }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const { width, height } = element.getBoundingClientRect();
    const left = x + AWAY + width > innerWidth - EDGE ? x - AWAY - width : x + AWAY;
    const top = y + AWAY + height > innerHeight - EDGE ? y - AWAY - height : y + AWAY;
    element.style.transform = `translate(${Math.max(EDGE, left)}px, ${Math.max(EDGE, top)}px)`;
  });
  return (
    <div className="tooltip" ref={ref} role="status">
      {children}
    </div>
  );
}
