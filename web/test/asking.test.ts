import { onlineManager, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ask } from "../src/api/client";
import { type Asked, queries, stop, together } from "../src/api/queries";
import { Refusal } from "../src/api/refusal";

class Events {
  static readonly CLOSED = 2;
  static latest: Events | undefined;
  readyState = 0;
  onmessage: ((event: { data: string }) => void) | null = null;
  onerror: (() => void) | null = null;
  constructor() {
    Events.latest = this;
  }
  close() {
    this.readyState = Events.CLOSED;
  }
}

const JOB = { id: "1", view: "maps", state: "queued", done: 0, total: 0, message: null, result: null };

beforeEach(() => {
  Events.latest = undefined;
  vi.stubGlobal("EventSource", Events);
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(JOB), { status: 202 }));
});

afterEach(() => {
  vi.unstubAllGlobals();
  onlineManager.setOnline(true);
  queries.clear();
});

async function following(): Promise<{ events: Events; answer: Promise<unknown> }> {
  const answer = ask("maps", {});
  answer.catch(() => undefined);
  await vi.waitFor(() => expect(Events.latest?.onerror).toBeTruthy());
  return { events: Events.latest!, answer };
}

describe("asking", () => {
  it("says so when the server is gone, and does not wait for ever", async () => {
    const { events, answer } = await following();
    for (let loss = 0; loss < 3; loss++) events.onerror?.();
    await expect(answer).rejects.toThrow("The connection to the server was lost");
    expect(events.readyState).toBe(Events.CLOSED);
  });

  it("can be repeated where nobody answered or there was too much to do, not where it was refused", () => {
    const passes = [0, 429, 500, 503, 200, 404, 422].filter((status) => new Refusal("no", status).passes);
    expect(passes).toEqual([0, 429, 500, 503]);
  });

  it("bears losses that heal", async () => {
    const { events } = await following();
    for (let loss = 0; loss < 9; loss++) {
      events.onerror?.();
      events.onmessage?.({ data: JSON.stringify({ ...JOB, state: "running" }) });
    }
    expect(events.readyState).not.toBe(Events.CLOSED);
    events.onmessage?.({ data: JSON.stringify({ ...JOB, state: "cancelled" }) });
  });

  it("gives the work back when the page is left", async () => {
    const { answer } = await following();
    const called = vi.fn(async () => new Response(null, { status: 204 }));
    vi.stubGlobal("fetch", called);
    dispatchEvent(new Event("pagehide"));
    await expect(answer).rejects.toThrow("The page was left");
    expect(called).toHaveBeenCalledExactlyOnceWith("api/jobs/1", { method: "DELETE", keepalive: true });
  });

  it("goes on without a network, as the server is this machine", async () => {
    onlineManager.setOnline(false);
    await expect(queries.fetchQuery({ queryKey: ["here"], queryFn: () => "answered" })).resolves.toBe("answered");
  });

  it("ends in a sentence when it is stopped, and can begin again", async () => {
    const queryKey = ["view", "maps", { text: "a" }];
    let times = 0;
    const answers = [new Promise<string>(() => undefined), Promise.resolve("answered")];
    const observer = new QueryObserver(queries, { queryKey, queryFn: () => answers[times++]! });
    const leave = observer.subscribe(() => undefined);
    await stop(queryKey);
    expect(observer.getCurrentResult()).toMatchObject({ status: "error", isFetching: false });
    await observer.refetch();
    expect(observer.getCurrentResult().data).toBe("answered");
    leave();
  });
});

describe("two questions together", () => {
  const asked = (found: Partial<Asked<string>>): Asked<string> => ({
    asked: true,
    data: undefined,
    error: null,
    working: false,
    stale: false,
    steps: undefined,
    cancel: vi.fn(),
    retry: vi.fn(),
    ...found,
  });

  it("cancels what is still worked on, and repeats what failed", () => {
    const failed = asked({ error: new Error("no") });
    const busy = asked({ working: true, steps: { done: 2, total: 6 } });
    const both = together(failed, busy);
    expect(both).toMatchObject({ working: true, steps: { done: 2, total: 6 } });
    both.cancel();
    both.retry();
    expect(
      [failed.cancel, busy.cancel, failed.retry, busy.retry].map((one) => vi.mocked(one).mock.calls.length),
    ).toEqual([0, 1, 1, 0]);
  });
});
