"""Translates a file with Ray Data: a model in each actor, batches wherever there is room, lines in their order.

python example/cluster/ray_translate.py MODEL INPUT OUTPUT [ACTORS] [THREADS]
"""

import os
import sys

import ray

import qkv

# As the command writes them, so that an answer is one line.
CONTROLS = {
    c: "".join(f"<0x{b:02X}>" for b in chr(c).encode()) for c in (*range(9), *range(10, 32), *range(127, 160))
}


class Translate:
    """An actor: it loads the model once."""

    def __init__(self, model, threads):
        qkv.set_threads(threads)  # those that num_cpus reserves for it
        self.translator = qkv.Translator(model)

    def __call__(self, batch):
        answers = self.translator.translate(list(batch["text"]))
        return {"text": [answer.text.translate(CONTROLS) for answer in answers]}


def main(model, source, output, actors="2", threads="1"):
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    lines = ray.data.read_text(os.path.abspath(source), drop_empty_lines=False)
    answers = lines.map_batches(
        Translate,
        fn_constructor_args=(os.path.abspath(model), int(threads)),
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=int(actors)),
        num_cpus=int(threads),
        batch_size=1024,
    )
    with open(output, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(row["text"] + "\n" for row in answers.iter_rows())


if __name__ == "__main__":
    main(*sys.argv[1:])
