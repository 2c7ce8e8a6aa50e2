/** A model of twelve layers of twelve heads that nobody has on this machine: its maps, made up, in the server's place. */

import type { Page } from "@playwright/test";

const LAYERS = 12;
const HEADS = 12;

/** As the server sends results: a safetensors file. */
function parcel(
  artifact: object,
  arrays: Record<string, { dtype: string; shape: number[]; bytes: Uint8Array }>,
): Buffer {
  let from = 0;
  const header: Record<string, unknown> = { __metadata__: { artifact: JSON.stringify(artifact) } };
  for (const [name, { dtype, shape, bytes }] of Object.entries(arrays)) {
    header[name] = { dtype, shape, data_offsets: [from, from + bytes.length] };
    from += bytes.length;
  }
  const text = JSON.stringify(header);
  const padded = text + " ".repeat((8 - (text.length % 8)) % 8);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  return Buffer.concat([length, Buffer.from(padded), ...Object.values(arrays).map(({ bytes }) => bytes)]);
}

function maps(tokens: number, slot: string): Buffer {
  const kept = tokens <= 128 ? Math.min(tokens, 64) : 16;
  const key = new Uint16Array(LAYERS * HEADS * tokens * kept);
  const share = new Float32Array(key.length);
  let seed = slot === "a" ? 1 : 2;
  const random = () => {
    seed = (seed * 1664525 + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  const counts = new Uint32Array(40);
  for (let row = 0; row < LAYERS * HEADS * tokens; row++) {
    const first = Math.floor(random() * tokens);
    const sharpness = 0.3 + 0.65 * random();
    let left = 1;
    for (let rank = 0; rank < kept; rank++) {
      const part = left * sharpness * 0.5;
      key[row * kept + rank] = (first + rank * 7) % tokens;
      share[row * kept + rank] = part;
      left -= part;
      counts[Math.min(39, Math.floor(part * 40))]! += 1;
    }
  }
  const labels = Array.from({ length: tokens }, (_, place) => (place === 0 ? "[CLS]" : `word${place}`));
  const artifact = {
    kind: "maps",
    model: `made up ${slot}`,
    measure: "weight",
    reading: "direct",
    stack: "self",
    unit: "token",
    tokens: {
      labels,
      special: labels.map((_, place) => place === 0),
      words: labels.map((_, place) => (place ? place : null)),
      starts_word: labels.map(() => true),
    },
    layers: Array.from({ length: LAYERS }, (_, place) => place + 1),
    heads: Array.from({ length: HEADS }, (_, place) => place + 1),
    kept,
    floor: 0,
    causal: false,
    default_target: 0,
    holds_residual: false,
    reconstruction_error: 1e-7,
  };
  const bytes = (values: { buffer: ArrayBufferLike }) => new Uint8Array(values.buffer as ArrayBuffer);
  const shape = [LAYERS, HEADS, tokens, kept];
  const edges = Float32Array.from({ length: 41 }, (_, place) => place / 40);
  return parcel(artifact, {
    key: { dtype: "U16", shape, bytes: bytes(key) },
    share: { dtype: "F32", shape, bytes: bytes(share) },
    histogram_edge: { dtype: "F32", shape: [41], bytes: bytes(edges) },
    histogram_count: { dtype: "U32", shape: [40], bytes: bytes(counts) },
  });
}

/** From now on, the page's maps are of this many tokens. */
export async function pretend(page: Page, tokens: number): Promise<void> {
  await page.route("**/api/views/maps", async (route) => {
    const { slot } = route.request().postDataJSON() as { slot: string };
    const job = {
      id: `made-up-${slot}`,
      view: "maps",
      state: "done",
      done: 1,
      total: 1,
      message: null,
      result: `made-up-${slot}`,
    };
    await route.fulfill({ json: job });
  });
  await page.route("**/api/results/made-up-*", async (route) => {
    await route.fulfill({
      contentType: "application/octet-stream",
      body: maps(tokens, route.request().url().slice(-1)),
    });
  });
}
