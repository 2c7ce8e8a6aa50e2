/** Questions to the server: a job is asked for, followed until it is done, and its result is fetched as a parcel. */

import { decodeParcel, type Parcel } from "./parcel";
import type { Job, Session } from "./types";

/** A sentence to show as it is. */
export class Refusal extends Error {
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.name = "Refusal";
    this.status = status;
  }

  /** Whether the same question may be answered another time: nobody answered, or there was too much to do. */
  get passes(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Losses of the connection in a row, some seconds apart, before the server is taken to be gone. */
const PATIENCE = 3;

export type OnProgress = (done: number, total: number) => void;

export async function getSession(signal?: AbortSignal): Promise<Session> {
  return (await call("api/session", signal ? { signal } : {})).json() as Promise<Session>;
}

export interface Asking {
  signal?: AbortSignal | undefined;
  onProgress?: OnProgress | undefined;
}

/** Ask one of the views' questions. Whoever loses interest says so through the signal, and the job is cancelled. */
export async function ask<A>(view: string, request: object, { signal, onProgress }: Asking = {}): Promise<Parcel<A>> {
  const response = await call(`api/views/${encodeURIComponent(view)}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
    ...(signal && { signal }),
  });
  const started = (await response.json()) as Job;
  const job = isFinal(started) ? started : await follow(started, { signal, onProgress });
  if (job.state !== "done" || job.result === null) {
    throw new Refusal(job.message ?? "The server stopped before it had an answer.", 200);
  }
  const result = await call(`api/results/${encodeURIComponent(job.result)}`, signal ? { signal } : {});
  return decodeParcel<A>(await result.arrayBuffer());
}

function isFinal({ state }: Job): boolean {
  return state === "done" || state === "failed" || state === "cancelled";
}

function follow(job: Job, { signal, onProgress }: Asking): Promise<Job> {
  return new Promise((resolve, reject) => {
    const path = `api/jobs/${encodeURIComponent(job.id)}`;
    const events = new EventSource(`${path}/events`);
    let losses = 0;
    const stop = () => {
      events.close();
      signal?.removeEventListener("abort", abandon);
      removeEventListener("pagehide", leave);
    };
    const giveBack = (reason: unknown) => {
      stop();
      void fetch(path, { method: "DELETE", keepalive: true }).catch(() => undefined);
      reject(reason);
    };
    const abandon = () => giveBack(signal?.reason ?? new DOMException("cancelled", "AbortError"));
    // What a closed page has asked for would keep others waiting.
    const leave = () => giveBack(new Refusal("The page was left before this was done.", 0));
    if (signal?.aborted) return abandon();
    signal?.addEventListener("abort", abandon);
    addEventListener("pagehide", leave);
    events.onmessage = ({ data }: MessageEvent<string>) => {
      const now = JSON.parse(data) as Job;
      losses = 0;
      onProgress?.(now.done, now.total);
      if (!isFinal(now)) return;
      stop();
      resolve(now);
    };
    events.onerror = () => {
      // The browser tries again by itself, without an end where nobody answers at all.
      if (events.readyState !== EventSource.CLOSED && ++losses < PATIENCE) return;
      stop();
      reject(new Refusal("The connection to the server was lost. Is it still running?", 0));
    };
  });
}

async function call(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refusal("The server does not answer. Is it still running?", 0);
  }
  if (!response.ok) throw new Refusal(await sentence(response), response.status);
  return response;
}

async function sentence(response: Response): Promise<string> {
  try {
    const { message } = (await response.json()) as { message?: unknown };
    if (typeof message === "string" && message) return message;
  } catch {
    // Not of our server: a proxy's page, or nothing at all.
  }
  return `The server answered ${response.status} ${response.statusText}.`;
}
