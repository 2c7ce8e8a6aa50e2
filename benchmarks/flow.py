"""Maximum flow against the usual solver: `python -m benchmarks.flow`.

Twelve layers of 64 tokens, every pair of an output and an input: the time of all 4096 flows, and how it compares with
networkx's Edmonds–Karp on the same graph, of which a sample of pairs is timed. Both must find the same.
"""

import time

import networkx as nx
import numpy as np

from attnscope.methods.max_flow import max_flow, resolution
from attnscope.methods.rows import shares

LAYERS, TOKENS, SAMPLE = 12, 64, 2
LONGEST, RATIO = 60.0, 100.0
"""What is asked for: seconds for all pairs, and times faster than networkx."""


def made_up(kind: str) -> np.ndarray:
    """Maps as models have them: spread over all tokens, or a few large entries in each row; or causal ones."""
    random = np.random.default_rng(0)
    concentration = {"spread": 1.0, "sharp": 0.05, "causal": 0.3}[kind]
    maps = random.gamma(concentration, size=(LAYERS, TOKENS, TOKENS)) + 1e-9
    return shares(np.tril(maps) if kind == "causal" else maps, identity=True)


def graph_of(maps: np.ndarray) -> nx.DiGraph:
    graph = nx.DiGraph()
    for layer, query, key in zip(*np.nonzero(maps), strict=True):
        graph.add_edge((layer + 1, query), (layer, key), capacity=maps[layer, query, key])
    return graph


def measure(kind: str) -> tuple[float, float]:
    """Seconds for all pairs, and seconds that networkx takes for one pair."""
    maps = made_up(kind)
    start = time.perf_counter()
    flows = max_flow(maps, layers=[LAYERS])[0]
    ours = time.perf_counter() - start
    graph, random = graph_of(maps), np.random.default_rng(1)
    theirs = 0.0
    for query, source in random.integers(TOKENS, size=(SAMPLE, 2)):
        source = min(query, source)
        start = time.perf_counter()
        expected = nx.maximum_flow_value(graph, (LAYERS, query), (0, source), flow_func=nx.algorithms.flow.edmonds_karp)
        theirs += (time.perf_counter() - start) / SAMPLE
        assert abs(flows[query, source] - expected) <= resolution(maps) * TOKENS * TOKENS
    return ours, theirs


def main() -> None:
    for kind in ("spread", "sharp", "causal"):
        ours, theirs = measure(kind)
        ratio = theirs * TOKENS**2 / ours
        verdict = "met" if ours <= LONGEST and ratio >= RATIO else "MISSED"
        print(f"{kind:7} {TOKENS**2} pairs {ours:6.1f} s (<= {LONGEST:g})   networkx {theirs:6.2f} s a pair, "
              f"{ratio:6.0f} x as long (>= {RATIO:g})   {verdict}")  # fmt: skip


if __name__ == "__main__":
    main()
