"""Translates a file with Dask: the model is loaded once in each worker process, partitions are blocks of the file.

    python example/cluster/dask_translate.py MODEL INPUT OUTPUT [BLOCK] [THREADS]

BLOCK is the size of a partition, such as 1MiB. On a cluster, make a dask.distributed.Client first.
"""

import functools
import glob
import os
import shutil
import sys
import tempfile

import dask
import dask.bag

import qkv

# As the command writes them, so that an answer is one line.
CONTROLS = {
    c: "".join(f"<0x{b:02X}>" for b in chr(c).encode()) for c in (*range(9), *range(10, 32), *range(127, 160))
}


@functools.lru_cache(maxsize=1)
def translator_of(model, threads):
    qkv.set_threads(threads)
    return qkv.Translator(model)


def translate(lines, model, threads):
    answers = translator_of(model, threads).translate([line.removesuffix("\n") for line in lines])
    return [answer.text.translate(CONTROLS) for answer in answers]


def main(model, source, output, block="1MiB", threads="1"):
    lines = dask.bag.read_text(os.path.abspath(source), blocksize=block, linedelimiter="\n")
    answers = lines.map_partitions(translate, os.path.abspath(model), int(threads))
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(output))) as folder:
        with dask.config.set(scheduler="processes"):
            answers.to_textfiles(folder, last_endline=True)  # 00.part, 01.part, ...
        with open(output, "wb") as whole:
            for part in sorted(glob.glob(f"{folder}/*.part")):
                with open(part, "rb") as file:
                    shutil.copyfileobj(file, whole)


if __name__ == "__main__":
    main(*sys.argv[1:])
