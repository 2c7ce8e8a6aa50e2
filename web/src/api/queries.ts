/** Questions as hooks: asked when shown, kept while the page is open, cancelled when nobody looks any more. */

import { keepPreviousData, QueryClient, useQuery } from "@tanstack/react-query";
import { create } from "zustand";
import { ask, getSession, Refusal } from "./client";
import type { Parcel } from "./parcel";

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
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
    error: found.error,
    working: found.isFetching,
    stale: found.isPlaceholderData,
    steps: found.isFetching ? steps : undefined,
    cancel: () => void queries.cancelQueries({ queryKey }),
    retry: () => void found.refetch(),
  };
}
