#!/usr/bin/env python3
"""Times our attention beside its peers, cell by cell, in one run on one GPU.

    python3 compare.py GRID... --ours ./serve [--peers fa3,fa4,cudnn,fa2] [--burst] [--rounds 3] [--json FILE]
    python3 compare.py GRID... --ours ./serve --variants variants.json    # of our kernels (`cargo xtask sweep`)
    python3 compare.py GRID... --ours ./serve --ours old=./old/serve      # another build of ours

GRID is fwd, gqa, short or varlen, or one of them with -quick for a few cells of it (`cells.py`).
`--ours` is the timing server; a second one has a name. Peers (`peers.py`) that are not here are named and
left out; without torch, ours is timed alone.

A card at its power limit lowers its clock, by a fifth within a second, so that there are two regimes:
sustained, where each program heats the card with its own load first, and which training and servers get;
and bursts after an idle pause (`--burst`), which papers print. All programs take turns, the order rotates
from round to round, and the median over the rounds counts. Before the first cell and after the last, so do
loops of matrix products alone: what the tensor cores give to a kernel that does nothing else. The mean of
before and after counts.
"""

import argparse
import json
import math
import subprocess
from pathlib import Path

import cells
import peers
import timing

# Below so many operations, a call is replayed from a CUDA graph, so that Python's launches are not timed.
GRAPH_BELOW = 2e11
CEILINGS = ("shared", "registers", "d64", "d128", "d256")


def parse():
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("grids", nargs="+", choices=sorted(cells.GRIDS), metavar="GRID")
    parser.add_argument("--ours", metavar="[NAME=]COMMAND", action="append", default=[], help="the timing server")
    parser.add_argument("--variants", metavar="FILE", type=Path, help="kernels of ours to time, and no ceilings")
    parser.add_argument("--peers", default=",".join(peers.PEERS), help="names with commas, or none")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--burst", action="store_true")
    parser.add_argument("--json", metavar="FILE", help="write the results there, after each cell")
    arguments = parser.parse_args()
    names = [name for name in arguments.peers.split(",") if name not in ("", "none")]
    unknown = [name for name in names if name not in peers.PEERS]
    if unknown:
        parser.error(f"--peers: {', '.join(unknown)}: there are {', '.join(peers.PEERS)}")
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    arguments.peers = names
    servers = [command.partition("=") for command in arguments.ours]
    arguments.ours = {name if command else "ours": command or name for name, _, command in servers}
    if len(arguments.ours) < len(servers) or set(arguments.ours) & set(peers.PEERS):
        parser.error("--ours: each needs a name of its own")
    if arguments.variants and "ours" not in arguments.ours:
        parser.error("--variants: needs --ours COMMAND")
    return arguments


def read_variants(path):
    """What `cargo xtask sweep` writes: names, tunings, and machine code beside the file."""
    variants = json.loads(path.read_text()) if path else []
    for variant in variants:
        if variant["tuning"].get("image"):
            variant["tuning"]["image"] = str(path.parent.absolute() / variant["tuning"]["image"])
    return variants


def takes(variant, cell):
    kernel = variant["tuning"].get("kernel")
    return not kernel or (kernel["operand"], kernel["head_dim"], kernel["value_dim"]) == (cell.dtype, cell.d, cell.dv)


def card():
    """The GPU's name and driver, as nvidia-smi says."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"]
    try:
        name, driver = subprocess.check_output(query, text=True).strip().split(", ")
        return {"card": name, "driver": driver}
    except (OSError, ValueError, subprocess.CalledProcessError):
        return {"card": "unknown GPU", "driver": "unknown"}


def in_turns(timed, rounds):
    """The medians over the rounds of functions by name, and why others have none."""
    times, failed, names = {name: [] for name in timed}, {}, list(timed)
    for number in range(rounds):
        first = number % max(1, len(names))
        for name in names[first:] + names[:first]:
            if name not in failed:
                try:
                    times[name].append(timed[name]())
                except Exception as error:  # Of whatever library; the others go on.
                    failed[name] = f"{type(error).__name__}: {error}"
    return {name: timing.median(times[name]) for name in names if name not in failed}, failed


def time_cell(cell, found, servers, variants, regime, rounds):
    timed, left_out, graphs = {}, {}, []
    for name, peer in found.items():
        try:
            call = peer.call(cell)
            if peer.graphs and cell.flops() < GRAPH_BELOW:
                call = timing.graphed(call)
                graphs.append(name)
        except Exception as error:  # Of whatever library; the others go on.
            left_out[name] = f"{type(error).__name__}: {error}"
            continue
        timed[name] = lambda call=call: timing.measure(call, regime)
    for name, server in servers.items():
        timed[name] = lambda server=server: server.attention(regime, cell)
    for variant in variants:
        tuning = variant["tuning"]
        timed[variant["name"]] = lambda tuning=tuning: servers["ours"].attention(regime, cell, tuning)
    ms, failed = in_turns(timed, rounds)
    left_out.update(failed)
    result = {name: getattr(cell, name) for name in cell.__dataclass_fields__}
    return {**result, "op": cell.op, "flops": cell.flops(), "ms": ms, "left_out": left_out, "graphs": graphs}


def ratio(result):
    """Ours over the fastest peer, where both were timed."""
    others = [ms for name, ms in result["ms"].items() if name in peers.PEERS]
    return min(others) / result["ms"]["ours"] if others and "ours" in result["ms"] else None


def show(cell, result):
    speeds = "  ".join(f"{name} {result['flops'] / ms / 1e9:.0f}" for name, ms in result["ms"].items())
    versus = ratio(result)
    print(f"{str(cell):60}  {speeds}" + (f"  ours/best {versus:.3f}" if versus else ""), flush=True)
    for name, why in result["left_out"].items():
        print(f"    without {name}: {why[:300]}", flush=True)


def show_variants(results):
    """A row for each program, a column for each cell, TFLOP/s."""
    names = list(dict.fromkeys(name for result in results for name in result["ms"]))
    width = max(map(len, names), default=0)
    columns = [f"{result['sq']}{'c' if result['causal'] else ''}" for result in results]
    print(" " * width, *(f"{column:>7}" for column in columns))
    for name in names:
        speeds = (f"{r['flops'] / r['ms'][name] / 1e9:7.0f}" if name in r["ms"] else "      –" for r in results)
        print(f"{name:{width}}", *speeds)


def main():
    arguments = parse()
    regime = timing.BURST if arguments.burst else timing.SUSTAINED
    found, missing = peers.load(arguments.peers)
    for name, why in missing.items():
        print(f"without {name}: {why}")
    variants = read_variants(arguments.variants)
    servers = {name: timing.Server(command) for name, command in arguments.ours.items()}
    server = servers.get("ours")
    results = {
        "format": 1,
        **card(),
        "grids": arguments.grids,
        "regime": regime.name,
        "rounds": arguments.rounds,
        "versions": {name: peer.version for name, peer in found.items()},
        "left_out": missing,
        "ceilings": {},
        "cells": [],
    }
    print(f"{results['card']}, driver {results['driver']}, {regime.name}, TFLOP/s; {results['versions']}")

    def write():
        if arguments.json:
            with open(arguments.json, "w") as file:
                json.dump(results, file, indent=1)

    speeds = {name: [] for name in CEILINGS}

    def time_ceilings():
        if server and not variants:
            timed = {name: lambda name=name: server.ceiling(regime, name) for name in CEILINGS}
            measured, failed = in_turns(timed, arguments.rounds)
            for name, speed in measured.items():
                speeds[name].append(speed)
                results["ceilings"][name] = sum(speeds[name]) / len(speeds[name])
            print("ceilings:", "  ".join(f"{name} {speed:.0f}" for name, speed in measured.items()))
            for name, why in failed.items():
                results["left_out"][f"ceiling {name}"] = why
                print(f"    without ceiling {name}: {why}")

    time_ceilings()
    for cell in (cell for name in arguments.grids for cell in cells.GRIDS[name]()):
        taking = [variant for variant in variants if takes(variant, cell)]
        if variants and not taking:
            continue
        result = time_cell(cell, found, servers, taking, regime, arguments.rounds)
        show(cell, result)
        results["cells"].append(result)
        write()
    time_ceilings()
    write()
    ratios = [value for value in map(ratio, results["cells"]) if value]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        ahead = sum(value >= 1 for value in ratios)
        print(f"ours over the best peer: geometric mean {mean:.3f}, least {min(ratios):.3f}, ", end="")
        print(f"at or above 1 in {ahead} of {len(ratios)} cells")
    if variants or len(servers) > 1:
        show_variants(results["cells"])
    for server in servers.values():
        server.close()


if __name__ == "__main__":
    main()
