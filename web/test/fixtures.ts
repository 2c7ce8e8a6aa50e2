/** What Python wrote with `python -m tools.fixtures`. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeParcel, type Parcel } from "../src/api/parcel";

const FOLDER = join(import.meta.dirname, "fixtures");

export function readParcel<A>(...path: string[]): Parcel<A> {
  const bytes = readFileSync(join(FOLDER, ...path));
  return decodeParcel<A>(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer);
}

export function readJson<T>(...path: string[]): T {
  return JSON.parse(readFileSync(join(FOLDER, ...path), "utf8")) as T;
}
