#!/usr/bin/env python3
"""attention() next to other engines for processors, on the table of cases of attention_bench.

    python3 bench/attention_peers.py                                  # every case; minutes
    python3 bench/attention_peers.py --cases causal_2k_d64 --dtypes fp32 --directions forward --rounds 9

Prints a table in Markdown: the median time of every engine on every case, and how much faster qkv is than the best
of the others. Peers that are not installed are named and left out: pip install torch onnxruntime onnx openvino.
Without any, it is attention_bench that runs.

All engines of a row are timed in one run, in turn, round after round, each in a process of its own that stays
alive: whatever else the machine does in the meantime meets all of them alike. Every peer's output is first compared
with the formula in double precision on some queries. Backward times are those of the backward alone.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENGINES = HERE / "attention_peers_engines.py"
PEERS = {  # name: what must be installed
    "torch sdpa": ("torch",),
    "torch sdpa, cut by hand": ("torch",),
    "torch math": ("torch",),
    "torch flex": ("torch",),
    "torch composed": ("torch",),
    "onnxruntime": ("onnxruntime", "onnx"),
    "onnxruntime contrib": ("onnxruntime", "onnx"),
    "openvino": ("openvino",),
}
PAUSE = 0.2  # seconds between engines: thread pools go on spinning for a while when their work is done


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


class Child:
    """A process that answers every line with a line of JSON."""

    def __init__(self, command, threads):
        self.errors = tempfile.TemporaryFile(mode="w+", errors="replace")
        env = dict(os.environ, **{f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "MKL", "OPENBLAS")})
        self.process = subprocess.Popen(
            [str(c) for c in command],
            env=env,
            text=True,
            bufsize=1,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )

    def ask(self, line, seconds=300):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except OSError:
            return {"error": self.last_words()}
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        answer = self.process.stdout.readline() if ready else ""
        if answer:
            return json.loads(answer)
        self.end()
        return {"error": self.last_words() if ready else f"no answer in {seconds} s"}

    def last_words(self):
        self.process.wait()
        self.errors.seek(0)
        lines = [line for line in self.errors.read().splitlines() if line.strip()]
        return lines[-1] if lines else f"ended with {self.process.returncode}"

    def alive(self):
        return self.process.poll() is None

    def end(self):
        self.process.kill()
        self.process.wait()


class Peer:
    """Another engine: one process for all rows."""

    def __init__(self, name, threads):
        self.name, self.threads, self.child = name, threads, None

    def prepare(self, row):
        if not (self.child and self.child.alive()):
            self.child = Child([sys.executable, ENGINES, self.name], self.threads)
        return self.child.ask(json.dumps(row)).get("error")

    def round(self):
        answer = self.child.ask("round")
        return answer.get("ms"), answer.get("error")

    def finish(self):
        if self.child.alive():
            self.child.ask("done")


class Ours:
    """attention_bench --serve: a process for each row, which answers a line with ms_median over its repetitions."""

    name = "qkv"

    def __init__(self, program, threads):
        self.program, self.threads, self.kernel = program, threads, None

    def prepare(self, row):
        flop = 4.0 * row["D"] * row["H"] * row["visible_pairs"] * (2.5 if row["direction"] == "backward" else 1)
        repeat = max(3, min(100, int(row["seconds"] * 100e9 / flop)))
        self.child = Child(
            [
                self.program,
                "--serve",
                "--case",
                row["case"],
                "--dtype",
                row["dtype"],
                "--direction",
                row["direction"],
                "--repeat",
                repeat,
                "--json",
            ],
            self.threads,
        )
        return self.round()[1]

    def round(self):
        answer = self.child.ask("round")
        self.kernel = answer.get("kernel", self.kernel)
        return answer.get("ms_median"), answer.get("error")

    def finish(self):
        self.child.end()


def measure(row, engines, rounds):
    """Engine name: the median over the rounds, in milliseconds, or why there is none."""
    results, running = {}, []
    for engine in engines:
        error = engine.prepare(row)
        if error:
            results[engine.name] = error
        else:
            running.append(engine)
    times = {engine.name: [] for engine in running}
    for _ in range(rounds):
        for engine in running:
            time.sleep(PAUSE)
            ms, error = engine.round() if engine.name not in results else (None, None)
            if error:
                results[engine.name] = error
            elif ms is not None:
                times[engine.name].append(ms)
    for engine in engines:
        engine.finish()
    return {**{name: statistics.median(t) for name, t in times.items() if t}, **results}


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def print_header(program, threads, peers):
    env = dict(os.environ, OMP_NUM_THREADS=str(threads))
    peak = json.loads(subprocess.run([program, "--peak"], env=env, check=True, capture_output=True).stdout)
    packages = dict.fromkeys(package for name in peers for package in PEERS[name])
    print(
        f"{processor()}, {threads} threads; multiply-adds reach {peak['fp32_gflops']:.0f} GFLOP/s in fp32, "
        f"{peak['bf16_gflops']:.0f} in bf16\n"
    )
    print(", ".join(f"{p} {version(p)}" for p in packages if version(p)))
    for name, needs in PEERS.items():
        missing = [p for p in needs if not version(p)]
        if missing:
            print(f"not installed: {name} (pip install {' '.join(missing)})")
    print("\nMilliseconds, medians; bold: the best peer. The last column is its time over that of qkv.\n")


def print_row(row, names, results):
    peers = [n for n in names if n != "qkv" and isinstance(results.get(n), float)]
    best = min(peers, key=results.get, default=None)
    cells = []
    for name in names:
        ms = results.get(name)
        text = f"{ms:.3f}" if isinstance(ms, float) else "-"
        cells.append(f"**{text}**" if name == best else text)
    ratio = "-"
    if best and isinstance(results.get("qkv"), float):
        ratio = f"{results[best] / results['qkv']:.2f}"
    print(f"| {row['case']} | {row['dtype']} | {row['direction']} | {' | '.join(cells)} | {ratio} |", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--bench",
        type=Path,
        default=HERE.parent / "build" / "bench" / "attention_bench",
        help="the program attention_bench (default: %(default)s)",
    )
    parser.add_argument("--cases", nargs="+", help="default: all of attention_bench --list")
    parser.add_argument("--dtypes", nargs="+", default=["fp32", "bf16"], choices=["fp32", "bf16"])
    parser.add_argument("--directions", nargs="+", default=["forward", "backward"], choices=["forward", "backward"])
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--seconds", type=float, default=0.2, help="of one round of one engine (default: %(default)s)"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    return parser.parse_args()


def main():
    a = parse_arguments()
    if not a.bench.exists():
        sys.exit(f"attention_peers: there is no {a.bench}: `make bench` builds it, or give --bench")
    names = [name for name in a.peers if all(version(package) for package in PEERS[name])]
    if not names:
        print("no peer is installed (pip install torch onnxruntime onnx openvino): qkv alone", flush=True)
        cases = ["--case", *a.cases] if a.cases else []
        sys.exit(subprocess.run([a.bench, *cases, "--dtype", *a.dtypes, "--direction", *a.directions]).returncode)
    listed = subprocess.run([a.bench, "--list", "--json"], check=True, capture_output=True).stdout
    cases = {case["case"]: case for case in json.loads(listed)}
    unknown = [name for name in a.cases or [] if name not in cases]
    if unknown:
        sys.exit(f"attention_peers: there is no case {unknown[0]}; there are: {' '.join(cases)}")
    print_header(a.bench, a.threads, a.peers)
    engines = [Ours(a.bench, a.threads), *(Peer(name, a.threads) for name in names)]
    names = [engine.name for engine in engines]
    print(f"| case | type | direction | {' | '.join(names)} | qkv is faster by |\n|{' --- |' * (len(names) + 4)}")
    notes = {}
    for case in [cases[name] for name in a.cases or cases]:
        for dtype in a.dtypes:
            for direction in a.directions:
                if direction == "backward" and case["T"] == 1:
                    continue  # decoding has no backward
                row = {**case, "dtype": dtype, "direction": direction, "seconds": a.seconds, "threads": a.threads}
                results = measure(row, engines, a.rounds)
                print_row(row, names, results)
                for name, error in results.items():
                    if isinstance(error, str):
                        notes.setdefault(f"{name}: {error}", []).append(f"{case['case']} {dtype} {direction}")
    print(f"\nqkv ran on its {engines[0].kernel} kernels.", end="")
    for note, rows in notes.items():
        print(f"\n{note} ({', '.join(rows[:3])}{' ...' if len(rows) > 3 else ''})", end="")
    print()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
