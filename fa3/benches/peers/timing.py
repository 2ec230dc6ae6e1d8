"""The median time of one call, and the timing server that does the same for ours."""

import json
import shlex
import subprocess
import time
from dataclasses import dataclass

# The largest deviation from f64 that rounding to the type explains on standard normal inputs.
TOLERANCE = {"bf16": 0.05, "fp16": 0.02}
# Seconds for the card to cool and to raise its clock before a burst.
PAUSE = 0.2


@dataclass(frozen=True)
class Regime:
    name: str
    warmup_ms: float
    measure_ms: float

    def pause(self):
        if self.warmup_ms == 0:
            time.sleep(PAUSE)


SUSTAINED = Regime("sustained", 150, 100)
BURST = Regime("burst", 0, 15)


def median(values):
    return sorted(values)[len(values) // 2]


def measure(call, regime):
    """The median time of one call in ms, by events around each after the warm-up."""
    import torch

    regime.pause()
    call()
    torch.cuda.synchronize()
    start, calls = time.perf_counter(), 0
    while (time.perf_counter() - start) * 1e3 < regime.warmup_ms or calls < 3:
        for _ in range(4):
            call()
        calls += 4
        torch.cuda.synchronize()
    each = (time.perf_counter() - start) * 1e3 / calls
    events = [
        (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
        for _ in range(int(min(2000, max(10, regime.measure_ms / each))))
    ]
    for begin, end in events:
        begin.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return median([begin.elapsed_time(end) for begin, end in events])


def graphed(call):
    """The same call as the replay of a CUDA graph, so that Python's launches are not timed."""
    import torch

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        call()
    return graph.replay


class Failed(Exception):
    """The server's answer is an error, or no answer."""


class Server:
    """Our program: a JSON request a line, a JSON answer a line."""

    def __init__(self, command):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(shlex.split(command), stdin=pipe, stdout=pipe, text=True, bufsize=1)

    def ask(self, regime, **request):
        regime.pause()
        request.update(warmup_ms=regime.warmup_ms, measure_ms=regime.measure_ms)
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline() or '{"error": "the server has ended"}')
        except (BrokenPipeError, json.JSONDecodeError) as error:
            raise Failed(repr(error)) from error
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def attention(self, regime, cell, tuning=None):
        """Milliseconds for a `cells.Cell`, its output checked by the server."""
        names = ("op", "dtype", "b", "sq", "sk", "hq", "hk", "d", "dv", "causal", "window", "lens")
        answer = self.ask(regime, **{name: getattr(cell, name) for name in names}, tuning=tuning)
        if not answer["err"] <= TOLERANCE[cell.dtype]:
            raise Failed(f"the output is off by {answer['err']}")
        return answer["ms"]

    def ceiling(self, regime, name):
        """TFLOP/s of a loop of matrix products alone."""
        answer = self.ask(regime, op="ceiling", name=name)
        return answer["flops"] / answer["ms"] / 1e9

    def close(self):
        self.process.stdin.close()
        self.process.wait()
