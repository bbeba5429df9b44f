"""What the scripts share that time a program of qkv beside another: every program is a process of its own, and they
take turns.
"""

import importlib.util
import json
import os
import subprocess
import sys

# As decode_bench and train_bench have them, with the vocabularies of these measurements.
RECIPES = {
    "tiny": {"layers": 4, "width": 128, "ffn": 256, "heads": 4, "vocabulary": 10_000},
    "base": {"layers": 6, "width": 512, "ffn": 2048, "heads": 8, "vocabulary": 32_000},
}


def options_of(parser, program, default, modules, rounds=3):
    """The options, with those that all of these scripts have; `program` is the option of the program of qkv."""
    parser.add_argument(program, default=default, help="the program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--all", action="store_true", help="show every run, on stderr")
    options = parser.parse_args()
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        parser.error(f"needs: pip install {' '.join(missing)}")
    path = getattr(options, program.removeprefix("--"))
    if not os.path.exists(path):
        parser.error(f"{path} does not exist: build it, or name it by {program}")
    return options


def command_of(script, job):
    """That runs the script with a job: run_job() there."""
    return [sys.executable, script, "--process", json.dumps(job)]


def run_job(process):
    """Prints what the process finds for the job of the command line as a line of JSON; false if there is none."""
    if sys.argv[1:2] != ["--process"]:
        return False
    print(json.dumps(process(json.loads(sys.argv[2]))))
    return True


def answer(command):
    """The JSON in the last line that the command prints."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def fastest(commands, options):
    """{name: the answer with the most tokens_per_s}."""
    calls = {name: lambda command=command: answer(command) for name, command in commands.items()}
    return {name: max(found, key=speed) for name, found in in_turn(calls, options).items()}


def in_turn(programs, options):
    """{name: what each of its calls found}, round after round."""
    found = {name: [] for name in programs}
    for _ in range(options.rounds):
        for name, call in programs.items():
            found[name].append(call())
            if options.all:
                print(f"{name}: {found[name][-1]}", file=sys.stderr, flush=True)
    return found


def speed(found):
    return found["tokens_per_s"]


def resident_mb():
    """The peak; that of getrusage begins with the parent's."""
    with open("/proc/self/status", encoding="utf-8") as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1]) / 1024
