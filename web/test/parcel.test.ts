import { describe, expect, it } from "vitest";
import { array, decodeParcel, floats } from "../src/api/parcel";

/** Written by hand, so that the reader is checked against the format and not against a writer of ours. */
function parcel(header: object, data: Uint8Array, padding = 0): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify(header) + " ".repeat(padding));
  const bytes = new Uint8Array(8 + text.length + data.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  bytes.set(data, 8 + text.length);
  return bytes.buffer;
}

const SHARES = new Float32Array([0.5, 0.25, 0.125, 1]);
const KEYS = new Uint16Array([3, 1, 65535]);
const HEADER = {
  __metadata__: { artifact: JSON.stringify({ kind: "test", labels: ["猫", "a"] }) },
  share: { dtype: "F32", shape: [2, 2], data_offsets: [0, 16] },
  key: { dtype: "U16", shape: [3], data_offsets: [16, 22] },
};
const DATA = new Uint8Array([...new Uint8Array(SHARES.buffer), ...new Uint8Array(KEYS.buffer)]);

describe.each([0, 1, 2, 3, 4, 5, 6, 7])("a parcel with %i bytes of padding", (padding) => {
  const found = decodeParcel<{ kind: string; labels: string[] }>(parcel(HEADER, DATA, padding));

  it("has its artifact", () => {
    expect(found.artifact).toEqual({ kind: "test", labels: ["猫", "a"] });
  });

  it("has its arrays", () => {
    expect(floats(found, "share")).toEqual(SHARES);
    expect(array(found, "share").shape).toEqual([2, 2]);
    expect(array(found, "key").data).toEqual(KEYS);
  });
});

describe("what can't be read", () => {
  it("copies nothing where the arrays are aligned", () => {
    const size = JSON.stringify(HEADER).length + (new TextEncoder().encode("猫").length - 1);
    const bytes = parcel(HEADER, DATA, (8 - (size % 8)) % 8);
    expect(array(decodeParcel(bytes), "share").data.buffer).toBe(bytes);
  });

  it("is named when it is asked for", () => {
    expect(() => array(decodeParcel(parcel(HEADER, DATA)), "nope")).toThrow("no array nope; it has share, key");
  });

  it("is refused when it is of another kind", () => {
    const other = { ...HEADER, share: { dtype: "BF16", shape: [8], data_offsets: [0, 16] } };
    expect(() => decodeParcel(parcel(other, DATA))).toThrow("BF16");
  });
});
