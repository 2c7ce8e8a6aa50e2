import { beforeEach, describe, expect, it, vi } from "vitest";
import { followHistory, useStore } from "../src/state/store";
import { DEFAULTS } from "../src/state/url";

const { choose } = useStore.getState();

beforeEach(() => {
  vi.useFakeTimers();
  useStore.setState(DEFAULTS);
  history.replaceState(null, "", "/");
});

describe("choosing", () => {
  it("puts each choice into the history", () => {
    const push = vi.spyOn(history, "pushState");
    choose({ draw: "sankey" });
    choose({ draw: "sankey" });
    expect(location.search).toBe("?draw=sankey");
    expect(push).toHaveBeenCalledTimes(1);
  });

  it("rewrites the address while dragging, and not at every move", () => {
    const push = vi.spyOn(history, "pushState");
    const replace = vi.spyOn(history, "replaceState");
    for (const threshold of [0.1, 0.2, 0.3]) choose({ threshold }, { quiet: true });
    expect(replace).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1000);
    expect(location.search).toBe("?threshold=0.3");
    expect(replace).toHaveBeenCalledTimes(1);
    expect(push).not.toHaveBeenCalled();
  });

  it("keeps where dragging ended when something else is chosen at once", () => {
    choose({ threshold: 0.4 }, { quiet: true });
    const replace = vi.spyOn(history, "replaceState");
    choose({ word: "plot" });
    expect(replace.mock.calls[0]?.[2]).toBe("/?threshold=0.4");
    expect(location.search).toBe("?threshold=0.4&word=plot");
  });

  it("follows the back button", () => {
    const stop = followHistory();
    choose({ word: "plot" });
    history.replaceState(null, "", "/?view=heads");
    dispatchEvent(new PopStateEvent("popstate"));
    expect(useStore.getState()).toMatchObject({ ...DEFAULTS, view: "heads" });
    stop();
  });
});
