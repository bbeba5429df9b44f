#!/usr/bin/env python3
"""What one hostile line of 990 KB costs each model: processor seconds and peak memory of the command.

    python3 bench/hostile_lines.py --qkv build/cli/qkv test/checkpoints
    python3 bench/hostile_lines.py test/checkpoints/t5 --kinds marks,han --commands translate --jobs 2

A FOLDER is a model, or has models as its folders. Every model is given every kind of line by every command that
takes a line and that it is for; what it refuses at all (a folder without a tokenizer) is left out, and named on
stderr. Rows are models and commands, columns are kinds. A run ends after --seconds of processor time, "> 60"; one
that fails has its exit code or signal behind the numbers, "2.1 exit 1", and its message on stderr.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

SIZE = 990_000  # a line of a million bytes is refused
MEMORY = 8 << 30  # of address space


def repeated(part):
    data = part.encode() if isinstance(part, str) else part
    return (data * (SIZE // len(data) + 1))[: SIZE // len(data) * len(data)]


def marks_out_of_order():
    """Which normalization puts in order."""
    return b"a" + "\u0301".encode() * (SIZE // 4) + "\u0316".encode() * (SIZE // 4)


def cycle(first, count):
    return repeated("".join(chr(first + i) for i in range(count)))


def any_characters():
    generator = random.Random(1)
    points = [*range(0x20, 0xD800), *range(0xE000, 0x110000)]
    text = "".join(map(chr, generator.choices(points, k=SIZE)))
    return text.encode()[:SIZE].decode(errors="ignore").encode()


KINDS = {
    "word": lambda: repeated("a"),
    "words": lambda: repeated("the man has a dog. "),
    "capitals": lambda: repeated("aB"),
    "digits": lambda: repeated("7"),
    "dots": lambda: repeated("."),
    "punctuation": lambda: repeated("!?'s\"()[]{}<>@#$%^&*_+=|~`;:,.-/"),
    "backslashes": lambda: repeated("\\n"),
    "spaces": lambda: repeated(" "),
    "tabs": lambda: repeated("\t "),
    "wide spaces": lambda: repeated("\u3000"),
    "returns": lambda: repeated("\r"),
    "line separators": lambda: repeated("\u2028\u0085\x0b"),
    "controls": lambda: repeated("\x01\x1b\x7f"),
    "invalid UTF-8": lambda: repeated(b"\xf0\x9f"),
    "replacements": lambda: repeated("\ufffd"),
    "marks": lambda: repeated("\u0301"),
    "marks to order": marks_out_of_order,
    "Han": lambda: cycle(0x3400, 6000),
    "one Han": lambda: repeated("\u9f98"),
    "jamo": lambda: repeated("\u1112\u1161\u11ab"),
    "kana marks": lambda: repeated("\uff76\uff9e"),
    "ligatures": lambda: repeated("\ufdfa"),  # a letter that NFKC makes 18 of
    "Arabic": lambda: repeated("\u202e\u0645\u0631\u062d\u0628\u0627 "),
    "Devanagari": lambda: repeated("\u0915\u094d\u0937\u093f"),
    "emoji": lambda: repeated("\U0001f469\u200d\U0001f469\u200d\U0001f467"),
    "flags": lambda: repeated("\U0001f1e9\U0001f1ea"),
    "zero width": lambda: repeated("\u200b\u200d"),
    "lower block": lambda: repeated("\u2581"),
    "special tokens": lambda: repeated("</s><s><|endoftext|>[MASK][SEP]<unk>"),
    "anything": any_characters,
}
COMMANDS = {
    "translate": [],
    "score": [],
    "generate": ["--max-tokens", "8"],
    "perplexity": [],
    "fill-mask": [],
    "embed": [],
}


def line_for(command, data):
    if command == "score":  # a pair; a tab would end the source
        half = data[: len(data) // 2].replace(b"\t", b" ")
        return half + b"\t" + half + b"\n"
    return (b"[MASK] " if command == "fill-mask" else b"") + data + b"\n"


@dataclass
class Run:
    seconds: float
    megabytes: float
    end: str  # "", "> 60" or how it failed
    message: str = ""

    def shown(self, value):
        return self.end if self.end.startswith(">") else f"{value} {self.end}".strip()


def limited(seconds):
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(qkv, command, model, file, seconds):
    """Peak memory is at least that of this program, which the command was until it was executed."""
    arguments = [qkv, command, "--model", str(model), "--input", str(file), "--threads", "1", *COMMANDS[command]]
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=errors, preexec_fn=lambda: limited(seconds)
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = code = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        message = errors.read().decode(errors="replace").strip()
    taken = usage.ru_utime + usage.ru_stime
    if taken >= seconds:
        end = f"> {seconds}"
    else:
        end = "" if code == 0 else f"exit {code}" if code > 0 else f"signal {-code}"
    return Run(taken, usage.ru_maxrss / 1024, end, message)


def models_in(folders):
    for folder in map(Path, folders):
        if any(path.is_file() for path in folder.iterdir() if path.name != "README.md"):
            yield folder
        else:
            yield from sorted(path for path in folder.iterdir() if path.is_dir())


def rows_of(options, scratch):
    """Models, and the commands that answer a short line of theirs."""
    rows = []
    for model in models_in(options.folders):
        message = ""
        fitting = []
        for command in options.commands:
            file = scratch / f"short-{command}"
            file.write_bytes(line_for(command, b"0 1"))
            tried = run(options.qkv, command, model, file, options.seconds)
            if not tried.end:
                fitting.append(command)
            message = tried.message or message
        rows += [(model, command) for command in fitting]
        if not fitting:
            print(f"{model}: left out: {message.splitlines()[0] if message else ''}", file=sys.stderr)
    return rows


def print_table(title, rows, cells):
    print(f"\n{title}")
    header = ["model", "command", *cells]
    lines = [[model.name, command, *(cells[kind][model, command] for kind in cells)] for model, command in rows]
    widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
    for line in [header, *lines]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def measure(options, scratch):
    rows = rows_of(options, scratch)
    runs = {}
    for kind in options.kinds:
        data = KINDS[kind]()
        for command in options.commands:
            (scratch / command).write_bytes(line_for(command, data))
        with ThreadPoolExecutor(options.jobs) as pool:
            tasks = {
                (model, command): pool.submit(run, options.qkv, command, model, scratch / command, options.seconds)
                for model, command in rows
            }
            runs[kind] = {row: task.result() for row, task in tasks.items()}
        for (model, command), ended in runs[kind].items():
            if ended.end and not ended.end.startswith(">"):
                print(f"{model.name}, {command}, {kind}: {ended.end}: {ended.message}", file=sys.stderr)
        print(f"{kind}: {max(r.seconds for r in runs[kind].values()):.1f} s at most", file=sys.stderr)
    for title, shown in [
        ("processor seconds", lambda r: r.shown(f"{r.seconds:.1f}")),
        ("peak memory in MB", lambda r: r.shown(f"{r.megabytes:.0f}")),
    ]:
        print_table(title, rows, {kind: {row: shown(r) for row, r in of.items()} for kind, of in runs.items()})


def names(known):
    def read(text):
        chosen = text.split(",")
        if unknown := [name for name in chosen if name not in known]:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}")
        return chosen

    return read


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--qkv", default="build/cli/qkv", help="the command")
    parser.add_argument("--kinds", type=names(KINDS), default=list(KINDS), metavar="KIND,...")
    parser.add_argument("--commands", type=names(COMMANDS), default=list(COMMANDS), metavar="COMMAND,...")
    parser.add_argument("--seconds", type=int, default=60, help="limit of processor time of a run")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        measure(options, Path(scratch))


if __name__ == "__main__":
    main()
