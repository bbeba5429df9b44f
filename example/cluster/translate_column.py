"""Translates a column of a Parquet or JSONL file: the rows of the file, with their translations as one column more.

    python example/cluster/translate_column.py MODEL INPUT OUTPUT [COLUMN] [NEW_COLUMN]

Parquet (needs pyarrow), or .jsonl, .jsonl.gz: an object a line. Memory does not grow with the file: 4,096 rows are
read, translated and written at a time. OUTPUT appears when it is complete. A null, and in JSONL a missing text,
stays null. For many files, call it once for each, as tasks of an array (slurm_array.sh) or of GNU parallel.
"""

import gzip
import itertools
import json
import os
import sys

import qkv

ROWS = 4096


def translated(translator, texts):
    """In their order; None stays None."""
    answers = iter(translator.translate([text for text in texts if text is not None]))
    return [None if text is None else next(answers).text for text in texts]


def parquet(translator, source, output, column, new_column):
    import pyarrow
    from pyarrow.parquet import ParquetFile, ParquetWriter

    with ParquetFile(source) as file:
        schema = file.schema_arrow.append(pyarrow.field(new_column, pyarrow.string()))
        with ParquetWriter(output, schema) as writer:
            for batch in file.iter_batches(ROWS):
                texts = translated(translator, batch.column(column).to_pylist())
                columns = [*batch.columns, pyarrow.array(texts, pyarrow.string())]
                writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=schema))


def jsonl(translator, source, output, column, new_column):
    opened = gzip.open if source.endswith(".gz") else open
    with opened(source, "rt", encoding="utf-8") as lines, opened(output, "wt", encoding="utf-8") as out:
        while rows := [json.loads(line) for line in itertools.islice(lines, ROWS)]:
            texts = translated(translator, [row.get(column) for row in rows])
            for row, text in zip(rows, texts):
                out.write(json.dumps({**row, new_column: text}, ensure_ascii=False) + "\n")


def main(model, source, output, column="text", new_column="translation"):
    kinds = {".parquet": parquet, ".jsonl": jsonl, ".jsonl.gz": jsonl}
    suffix = next((s for s in kinds if source.endswith(s)), None)
    if suffix is None or not output.endswith(suffix):
        sys.exit(f"INPUT and OUTPUT must both end in one of {', '.join(kinds)}, got {source} and {output}")
    part = output.removesuffix(suffix) + ".part" + suffix
    kinds[suffix](qkv.Translator(model), source, part, column, new_column)
    os.replace(part, output)


if __name__ == "__main__":
    main(*sys.argv[1:])
