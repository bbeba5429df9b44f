"""Translates a file with Spark: the model is loaded once for each partition, and lines are put back in their order.

    spark-submit example/cluster/spark_translate.py MODEL INPUT OUTPUT [PARTITIONS] [THREADS]

The model must be at the same path on every machine. spark.task.cpus should be THREADS.
"""

import os
import sys

import pandas as pd
from pyspark import StorageLevel
from pyspark.sql import SparkSession
from pyspark.sql.functions import monotonically_increasing_id

# As the command writes them, so that an answer is one line.
CONTROLS = {
    c: "".join(f"<0x{b:02X}>" for b in chr(c).encode()) for c in (*range(9), *range(10, 32), *range(127, 160))
}


def translate_with(model, threads):
    def translate(batches):
        import qkv  # in the worker: it is forked from a process that has no threads yet

        qkv.set_threads(threads)
        translator = qkv.Translator(model)
        for batch in batches:
            answers = translator.translate(list(batch["value"]))
            texts = [answer.text.translate(CONTROLS) for answer in answers]
            yield pd.DataFrame({"number": batch["number"], "text": texts})

    return translate


def main(model, source, output, partitions="2", threads="1"):
    spark = SparkSession.builder.appName("qkv translate").getOrCreate()
    lines = spark.read.text(os.path.abspath(source), lineSep="\n")
    numbered = lines.withColumn("number", monotonically_increasing_id())  # they grow along the file
    ordered = numbered.repartitionByRange(int(partitions), "number").sortWithinPartitions("number")
    answers = ordered.mapInPandas(translate_with(os.path.abspath(model), int(threads)), "number long, text string")
    # Sorting the answers would translate twice, as Spark samples what it sorts; iterating alone would translate one
    # partition at a time.
    answers.persist(StorageLevel.DISK_ONLY).count()
    with open(output, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(row.text + "\n" for row in answers.toLocalIterator())
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
