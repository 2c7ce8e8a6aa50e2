/**
 * A result as it travels: the safetensors format. Eight bytes say how long the header is, the header is JSON, and the
 * arrays follow as they lie in memory; nothing is copied, each array is a view of the one buffer.
 */

const KINDS = {
  F64: Float64Array,
  F32: Float32Array,
  I32: Int32Array,
  U32: Uint32Array,
  I16: Int16Array,
  U16: Uint16Array,
  I8: Int8Array,
  U8: Uint8Array,
  BOOL: Uint8Array,
} as const;

export type Numbers =
  | Float64Array
  | Float32Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array
  | Uint8Array;

export interface Tensor {
  shape: number[];
  data: Numbers;
}

export interface Parcel<A> {
  artifact: A;
  arrays: Record<string, Tensor>;
}

interface Entry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

export function decodeParcel<A>(buffer: ArrayBuffer): Parcel<A> {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length))) as Record<string, unknown>;
  const { artifact } = header.__metadata__ as { artifact: string };
  const arrays: Record<string, Tensor> = {};
  for (const [name, value] of Object.entries(header)) {
    if (name !== "__metadata__") arrays[name] = tensor(buffer, 8 + length, value as Entry);
  }
  return { artifact: JSON.parse(artifact) as A, arrays };
}

function tensor(buffer: ArrayBuffer, start: number, { dtype, shape, data_offsets: [from, to] }: Entry): Tensor {
  const Kind = KINDS[dtype as keyof typeof KINDS];
  if (!Kind) throw new Error(`an array of ${dtype} can't be read here; expected ${Object.keys(KINDS).join(", ")}`);
  const size = Kind.BYTES_PER_ELEMENT;
  const aligned = (start + from) % size === 0;
  // The format aligns arrays; one that isn't aligned must be copied, as a typed array can't begin just anywhere.
  const source = aligned ? buffer : buffer.slice(start + from, start + to);
  return { shape, data: new Kind(source, aligned ? start + from : 0, (to - from) / size) };
}

/** An array by name; a missing one is a mistake of ours, not of whoever looks. */
export function array<A>(parcel: Parcel<A>, name: string): Tensor {
  const found = parcel.arrays[name];
  if (!found) throw new Error(`the result has no array ${name}; it has ${Object.keys(parcel.arrays).join(", ")}`);
  return found;
}

/** The numbers of an array that is known to be of 32-bit floats. */
export function floats<A>(parcel: Parcel<A>, name: string): Float32Array {
  const { data } = array(parcel, name);
  if (!(data instanceof Float32Array)) throw new Error(`${name} was expected as 32-bit floats`);
  return data;
}
