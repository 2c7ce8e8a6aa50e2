/**
 * Answers that came with the page: `attnscope export` writes them into it, and then nobody is asked. What stands there
 * are the server's own parcels, by question, packed.
 */

import { decodeParcel, type Parcel } from "./parcel";
import { Refusal } from "./refusal";
import type { Session } from "./types";

type Request = Record<string, unknown>;

interface Answered {
  view: string;
  /** With everything that can be left out. */
  request: Request;
  parcel?: string;
  /** Why there is no answer. */
  message?: string;
}

interface Kept {
  session: Session;
  /** What the text was read in. */
  unit: "token" | "word";
  /** What a request to a view leaves out. */
  defaults: Record<string, Request>;
  answers: Answered[];
}

export const kept = keptIn(document.getElementById("kept")?.textContent);

/** null where the page has no answers of its own. */
export function keptIn(written: string | null | undefined): Kept | null {
  return written ? (JSON.parse(written) as Kept) : null;
}

export function isKept(view: string): boolean {
  return !kept || kept.answers.some((answer) => answer.view === view);
}

export async function answerOf<A>({ defaults, answers }: Kept, view: string, request: object): Promise<Parcel<A>> {
  const asked = named({ ...defaults[view], ...request });
  const found = answers.find((answer) => answer.view === view && named(answer.request) === asked);
  if (found?.parcel) return decodeParcel<A>(await unpacked(found.parcel));
  throw new Refusal(found?.message ?? "This file holds one text, and not this; attnscope serve answers anything.", 404);
}

/** A request as a name: the same whatever the order of its fields. */
function named(request: Request): string {
  return JSON.stringify(Object.entries(request).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function unpacked(written: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(written), (letter) => letter.charCodeAt(0));
  const packed = new Response(bytes).body as ReadableStream<BufferSource>;
  return new Response(packed.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
