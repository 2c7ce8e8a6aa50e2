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

/** A square of a grid that lies across a ring: `u` along it and `v` outwards, from the grid's middle. */
export function tile(angle: number, radius: number, u: number, v: number, width: number, height: number): string {
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
  const corner = (along: number, out: number): string => {
    const [x, y] = [along, -(radius + out)];
    return `${n(x * cos - y * sin)} ${n(x * sin + y * cos)}`;
  };
  return `M${corner(u, v)}L${corner(u + width, v)}L${corner(u + width, v + height)}L${corner(u, v + height)}Z`;
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
