/** Angles are clockwise from twelve o'clock, in radians; lengths are in pixels, rounded to a tenth. */

export type Point = readonly [number, number];

export const TAU = 2 * Math.PI;

export function at(angle: number, radius: number): Point {
  return [radius * Math.sin(angle), -radius * Math.cos(angle)];
}

export function n(value: number): string {
  const rounded = Math.round(value * 10) / 10;
  return Object.is(rounded, -0) ? "0" : String(rounded);
}

export function xy([x, y]: Point): string {
  return `${n(x)} ${n(y)}`;
}

/** A piece of a ring. */
export function sector(from: number, to: number, inner: number, outer: number): string {
  const large = to - from > Math.PI ? 1 : 0;
  return (
    `M${xy(at(from, outer))}A${n(outer)} ${n(outer)} 0 ${large} 1 ${xy(at(to, outer))}` +
    `L${xy(at(to, inner))}A${n(inner)} ${n(inner)} 0 ${large} 0 ${xy(at(from, inner))}Z`
  );
}

/** Along a ring, as a text would run: turned round in the lower half, so that letters stand upright. */
export function baseline(from: number, to: number, radius: number): string {
  const middle = (from + to) / 2;
  const large = to - from > Math.PI ? 1 : 0;
  return isLower(middle)
    ? `M${xy(at(to, radius))}A${n(radius)} ${n(radius)} 0 ${large} 0 ${xy(at(from, radius))}`
    : `M${xy(at(from, radius))}A${n(radius)} ${n(radius)} 0 ${large} 1 ${xy(at(to, radius))}`;
}

export function isLower(angle: number): boolean {
  return Math.cos(angle) < -0.02;
}

/** A square of a grid that lies across a ring, as four corners: `u` along it and `v` outwards, from the grid's middle. */
export function addTile(
  corners: number[],
  angle: number,
  radius: number,
  u: number,
  v: number,
  width: number,
  height: number,
): void {
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
  const [low, high] = [-(radius + v), -(radius + v + height)];
  const right = u + width;
  corners.push(
    u * cos - low * sin,
    u * sin + low * cos,
    right * cos - low * sin,
    right * sin + low * cos,
    right * cos - high * sin,
    right * sin + high * cos,
    u * cos - high * sin,
    u * sin + high * cos,
  );
}

/** From one ring to the next: the radius glides over while the angle sweeps. */
export function spiral(from: number, outer: number, to: number, inner: number): string {
  const sweep = to - from;
  const steps = Math.max(2, Math.ceil(Math.abs(sweep) / 0.1));
  let path = `M${xy(at(from, outer))}`;
  for (let place = 1; place <= steps; place++) {
    const part = place / steps;
    const smooth = part * part * (3 - 2 * part);
    path += `L${xy(at(from + sweep * smooth, outer + (inner - outer) * part))}`;
  }
  return path;
}

export function quad(corners: readonly number[]): string {
  const [a, b, c, d, e, f, g, h] = corners as [number, number, number, number, number, number, number, number];
  return `M${n(a)} ${n(b)}L${n(c)} ${n(d)}L${n(e)} ${n(f)}L${n(g)} ${n(h)}Z`;
}

export function rect(x: number, y: number, width: number, height: number): string {
  return `M${n(x)} ${n(y)}h${n(width)}v${n(height)}h${n(-width)}Z`;
}

/** A band that glides from one height to another. */
export function ribbon(x0: number, y0: number, x1: number, y1: number, width: number): string {
  const middle = n((x0 + x1) / 2);
  return (
    `M${n(x0)} ${n(y0)}C${middle} ${n(y0)} ${middle} ${n(y1)} ${n(x1)} ${n(y1)}` +
    `V${n(y1 + width)}C${middle} ${n(y1 + width)} ${middle} ${n(y0 + width)} ${n(x0)} ${n(y0 + width)}Z`
  );
}

export function line(points: readonly number[]): string {
  let path = "";
  for (let place = 0; place < points.length; place += 2) {
    path += `${place === 0 ? "M" : "L"}${n(points[place]!)} ${n(points[place + 1]!)}`;
  }
  return path;
}
