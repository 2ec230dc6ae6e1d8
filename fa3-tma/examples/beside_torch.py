#!/usr/bin/env python3
"""The examples' kernels timed beside torch (cuBLAS, and copies), in turns in one run on one GPU.

    cargo build --release -p fa3-tma-examples --features driver --example timing
    python3 fa3-tma/examples/beside_torch.py target/release/examples/timing --burst --rounds 5

Sustained, the default: each side heats the card with its own load for 150 ms before it is measured for
100 ms, which is what a card at its power limit gives in the long run. --burst: measured for 15 ms after an
idle pause of 0.2 s. A measurement is the median of calls timed by events around each; of the rounds, in
which the order alternates, the median counts. Both sides work on standard normal numbers in bf16. Ours takes
the bias in f32 and torch in bf16; `copy` is torch's copy of as many bytes as the transpose reads and writes.
"""
import argparse
import json
import subprocess
import sys
import time

try:
    import torch
except ImportError:
    torch = None

# The largest deviation from f64 that is taken, as a part of the largest element: rounding makes 2**-9.
LARGEST_ERROR = 2**-8


def gemm(size, bias):
    return {"op": "gemm", "m": size, "n": size, "k": size, "bias": bias}


def transpose(batch, rows, columns):
    return {"op": "transpose", "batch": batch, "rows": rows, "columns": columns, "scale": 1.0}


CASES = [gemm(size, bias) for bias in (False, True) for size in (4096, 8192)]
CASES += [transpose(8, 4096, 8192), transpose(64, 1000, 2056)]


def peer(case):
    """What torch is called for, and the call."""
    normal = lambda *shape: torch.randn(*shape, device="cuda", dtype=torch.bfloat16)
    if case["op"] == "transpose":
        x = normal(case["batch"], case["rows"], case["columns"])
        y = torch.empty_like(x)
        return "copy", lambda: y.copy_(x)
    a, b = normal(case["m"], case["k"]), normal(case["n"], case["k"])
    if case["bias"]:
        bias = normal(case["n"])
        return "linear", lambda: torch.nn.functional.linear(a, b, bias)
    return "matmul", lambda: torch.matmul(a, b.t())


def work(case):
    """The work of one call and the unit of work a millisecond: FLOPs or bytes."""
    if case["op"] == "transpose":
        return 4 * case["batch"] * case["rows"] * case["columns"] / 1e9, "TB/s"
    return 2 * case["m"] * case["n"] * case["k"] / 1e9, "TFLOP/s"


def name(case):
    if case["op"] == "transpose":
        return f"transpose {case['batch']}×{case['rows']}×{case['columns']}"
    return f"gemm {case['m']}×{case['n']}×{case['k']}" + (" + bias" if case["bias"] else "")


def time_torch(call, warmup_ms, measure_ms):
    """The median time of one call, milliseconds, measured as the other side measures it."""
    call()
    torch.cuda.synchronize()
    start, calls = time.perf_counter(), 0
    while (time.perf_counter() - start) * 1e3 < warmup_ms or calls < 3:
        for _ in range(4):
            call()
        calls += 4
        torch.cuda.synchronize()
    each = (time.perf_counter() - start) * 1e3 / calls
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)]
              for _ in range(int(min(2000, max(10, measure_ms / each))))]
    for begin, end in events:
        begin.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return median(begin.elapsed_time(end) for begin, end in events)


class Ours:
    """The timing program, asked by lines of JSON."""

    def __init__(self, program):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([program], stdin=pipe, stdout=pipe, text=True, bufsize=1)

    def time(self, case, warmup_ms, measure_ms):
        request = {**case, "warmup_ms": warmup_ms, "measure_ms": measure_ms}
        self.process.stdin.write(json.dumps(request) + "\n")
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the program ended"}
        if "error" in answer:
            sys.exit(f"{name(case)}: {answer['error']}")
        if not answer["err"] <= LARGEST_ERROR:
            sys.exit(f"{name(case)}: wrong by {answer['err']} of the largest element")
        return answer["ms"]


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the built example `timing`")
    parser.add_argument("--burst", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if torch is None:
        sys.exit("this needs torch for CUDA: python3 -m pip install torch")
    warmup_ms, measure_ms = (0, 15) if arguments.burst else (150, 100)
    ours = Ours(arguments.program)
    regime = "burst" if arguments.burst else "sustained"
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {regime}, {arguments.rounds} rounds")
    print(f"{'':28} {'':8} {'torch':>8} {'ours':>8}  torch/ours, of times")
    for case in CASES:
        called, call = peer(case)
        sides = {"torch": lambda: time_torch(call, warmup_ms, measure_ms),
                 "ours": lambda: ours.time(case, warmup_ms, measure_ms)}
        times = {side: [] for side in sides}
        for turn in range(arguments.rounds):
            for side in list(sides)[turn % 2:] + list(sides)[:turn % 2]:
                if arguments.burst:
                    time.sleep(0.2)
                times[side].append(sides[side]())
        best = {side: median(found) for side, found in times.items()}
        amount, unit = work(case)
        torch_rate, our_rate = (f"{amount / best[side]:8.3f}" if unit == "TB/s" else f"{amount / best[side]:8.1f}"
                                for side in ("torch", "ours"))
        print(f"{name(case):28} {called:8} {torch_rate} {our_rate}  {best['torch'] / best['ours']:.3f} {unit}",
              flush=True)


if __name__ == "__main__":
    main()
