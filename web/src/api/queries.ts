/** Questions as hooks: asked when shown, kept while the page is open, cancelled when nobody looks any more. */

import { CancelledError, keepPreviousData, QueryClient, useQuery } from "@tanstack/react-query";
import { create } from "zustand";
import { ask, getSession } from "./client";
import type { Parcel } from "./parcel";
import { Refusal, Stopped } from "./refusal";

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The server is this machine: that the network is gone means nothing.
      networkMode: "always",
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 10 * 60_000,
      refetchOnWindowFocus: false,
      // A full queue empties again; any other refusal stands.
      retry: (count, error) => error instanceof Refusal && error.status === 429 && count < 5,
      retryDelay: (count) => 400 * 2 ** count,
    },
  },
});

interface Steps {
  done: number;
  total: number;
}

const useSteps = create<Record<string, Steps>>()(() => ({}));

export function useSession() {
  return useQuery({ queryKey: ["session"], queryFn: ({ signal }) => getSession(signal) });
}

export interface Asked<A> {
  /** There is a question at all. */
  asked: boolean;
  data: Parcel<A> | undefined;
  error: Error | null;
  /** Something is being worked out, whether or not an earlier answer is still shown. */
  working: boolean;
  /** What is shown answers an earlier question. */
  stale: boolean;
  steps: Steps | undefined;
  cancel: () => void;
  retry: () => void;
}

/** What a person stopped is said, and can be asked again; else it would look like work without an end. */
export async function stop(queryKey: readonly unknown[]): Promise<void> {
  await queries.cancelQueries({ queryKey, exact: true }, { revert: false });
}

/** All that failed and is still to be seen, once more. */
export async function askAgain(): Promise<void> {
  await queries.refetchQueries({ type: "active", predicate: ({ state }) => state.status === "error" });
}

function said(error: Error | null): Error | null {
  return error instanceof CancelledError ? new Stopped() : error;
}

/** Several questions as one. */
export type Questions = Pick<Asked<unknown>, "working" | "steps" | "cancel" | "retry">;

/** One question after another: how far the first is that is still worked on, and all of them to cancel or to repeat. */
export function together(...all: Asked<unknown>[]): Questions {
  const busy = all.find(({ working }) => working);
  return {
    working: busy !== undefined,
    steps: busy?.steps,
    cancel: () => {
      for (const { working, cancel } of all) if (working) cancel();
    },
    retry: () => {
      for (const { asked, working, data, error, stale, retry } of all)
        if (error || (asked && !working && (stale || !data))) retry();
    },
  };
}

/** The answer to a view's question; null asks nothing. An earlier answer stays until the next one is there. */
export function useParcel<A>(view: string, request: object | null): Asked<A> {
  const queryKey = ["view", view, request] as const;
  const name = JSON.stringify(queryKey);
  const steps = useSteps((all) => all[name]);
  const found = useQuery({
    queryKey,
    enabled: request !== null,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      ask<A>(view, request ?? {}, {
        signal,
        onProgress: (done, total) => useSteps.setState({ [name]: { done, total } }),
      }),
  });
  return {
    asked: request !== null,
    data: request === null ? undefined : found.data,
    error: said(found.error),
    working: found.isFetching,
    stale: found.isPlaceholderData,
    steps: found.isFetching ? steps : undefined,
    cancel: () => void stop(queryKey),
    retry: () => void found.refetch(),
  };
}
