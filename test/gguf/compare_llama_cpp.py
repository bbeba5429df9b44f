"""GGUF files read by this package and by llama.cpp: tokens of texts, probabilities of tokens, vectors of texts.

    pip install xllamacpp gguf==0.19.0; python make_models.py /tmp/models llama-f32 llama-q4_0 bert-f32
    PYTHONPATH=python python3 compare_llama_cpp.py /tmp/models/*.gguf [--texts 1000] [--prompts 20]

Prints a line for each file, and the first differences:

    tokens         texts (random characters of all of Unicode, spaces, digits, emoji, words of the vocabulary) whose tokens differ
    probabilities  the largest difference of the log-probability of a token, given those before it; and those of both from
                   the same weights in f32, because products with quantised ones round what they are multiplied with
    greedy         answers that differ, up to the first token whose lead over the second is small
    vectors        the largest difference of a number of a mean-pooled vector of length 1
"""

import argparse
import ctypes
import glob
import json
import os
import random
import sys
import urllib.request
from pathlib import Path

import gguf
import numpy
import xllamacpp

import qkv

RANGES = (
    (0x20, 0x7E), (0xA0, 0x17F), (0x370, 0x52F), (0x5D0, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F), (0x1100, 0x11FF),
    (0x2000, 0x206F), (0x2100, 0x22FF), (0x2600, 0x27BF), (0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
    (0xFE00, 0xFFEF), (0x1F300, 0x1FAFF), (0x20000, 0x2A6DF), (0xE000, 0xE0FF), (0x300, 0x36F),
)  # fmt: skip
PARTS = (
    " ", "  ", "    ", "\t", "\n", "\n\n", " \n", "\r\n", "\u00a0", "\u3000", "\u2028", "\u200b", "\u200d", "\x01", "\x7f",
    "'s", "'LL", "'re", "n't", "0", "12", "345", "6789", "1234567", "3.14", "\u0664\u0665", "\u00b2", "...", "!?", "--",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "e\u0301", "\u00e9", "\ufb01", "\uff21",
    "<s>", "</s>", "<unk>", "<|endoftext|>", "[CLS]", "\u2581", "##", "<0x0A>", "camelCase", "HTTPServer", "don't",
)  # fmt: skip
MARGIN = (
    0.05  # in log-probability, or twice the largest difference, that a greedy token must lead by to be compared
)
SERVERS = []  # kept until the program ends: some do not stop


def texts_of(tokenizer, count):
    """The same for every tokenizer of the same vocabulary."""
    drawn = random.Random(1)
    words = [tokenizer.token(i).replace("\u2581", " ").replace("\u0120", " ") for i in range(4, 300)]
    words = [w for w in words if w.isprintable() and "\ufffd" not in w]
    out = []
    while len(out) < count:
        text = ""
        for _ in range(drawn.randint(1, 12)):
            kind = drawn.random()
            if kind < 0.45:
                text += drawn.choice(words) + drawn.choice(("", " "))
            elif kind < 0.8:
                text += drawn.choice(PARTS)
            else:
                low, high = drawn.choice(RANGES)
                text += "".join(chr(drawn.randint(low, high)) for _ in range(drawn.randint(1, 4)))
        out.append(text)
    return out


class Parameters(ctypes.Structure):
    """Those of llama_model_default_params(), at least as large: passed on as they are."""

    _fields_ = [("bytes", ctypes.c_char * 1024)]


LIBRARY = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(xllamacpp.__file__), "*.so"))[0])
LIBRARY.llama_model_default_params.restype = Parameters
LIBRARY.llama_model_load_from_file.restype = LIBRARY.llama_model_get_vocab.restype = ctypes.c_void_p


class Vocabulary:
    """Of llama.cpp, without its server, which does not load an encoder-decoder."""

    def __init__(self, path):
        model = LIBRARY.llama_model_load_from_file(os.fsencode(path), LIBRARY.llama_model_default_params())
        self.vocabulary = ctypes.c_void_p(LIBRARY.llama_model_get_vocab(ctypes.c_void_p(model)))

    def tokens(self, text, add_special=False):
        data = text.encode()
        ids = (ctypes.c_int32 * (len(data) + 8))()
        return ids[: LIBRARY.llama_tokenize(self.vocabulary, data, len(data), ids, len(ids), add_special, False)]


class LlamaCpp:
    def __init__(self, path, tokenizer, embeds):
        self.printable = next(
            i for i in range(4, 400) if tokenizer.token(i).isalnum() and tokenizer.token(i).isascii()
        )
        p = xllamacpp.CommonParams()
        p.model.path, p.n_ctx, p.n_parallel, p.warmup, p.verbosity = str(path), 256, 1, False, -1
        p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
        p.cache_type_k = p.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        p.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        p.embedding, p.embd_normalize = embeds, 2
        if embeds:
            p.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        self.server = xllamacpp.Server(p)
        SERVERS.append(self.server)

    def post(self, path, **values):
        data = json.dumps(values).encode()
        request = urllib.request.Request(
            self.server.listening_address + path, data, {"Content-Type": "application/json"}
        )
        return json.loads(urllib.request.urlopen(request).read())

    def next_token(self, prompt, choices):
        """Log-probabilities of the most likely ones by id, before the bias: only whole characters have an answer."""
        out = self.post("/completion", prompt=prompt, n_predict=1, temperature=0, n_probs=choices, cache_prompt=False,
                        logit_bias=[[self.printable, 1000]])  # fmt: skip
        return {t["id"]: t["logprob"] for t in out["completion_probabilities"][0]["top_logprobs"]}

    def vector(self, tokens):
        return numpy.array(self.post("/embeddings", input=tokens)[0]["embedding"][0])


def compare_tokens(vocabulary, tokenizer, texts):
    different = []
    for text in texts:
        ours, theirs = tokenizer.encode(text), vocabulary.tokens(text)
        if ours != theirs:
            different.append((text, ours, theirs))
    return different


def largest_difference(a, b):
    return max(abs(x - y) for x, y in zip(a, b))


def compare_probabilities(llama, path, tokenizer, texts, size):
    first = tokenizer.special_tokens["bos"]
    ours, exact = (
        [p for score in qkv.Generator(path, weights=held).score(texts) for p in score.token_log_probabilities]
        for held in (None, "f32")
    )
    theirs = []
    for ids in map(tokenizer.encode, texts):
        theirs += [llama.next_token([first, *ids[:i]], size)[ids[i]] for i in range(len(ids))]
    different, here, there = (largest_difference(*two) for two in ((ours, theirs), (ours, exact), (theirs, exact)))
    return different, f"probabilities {different:.1e} (from f32: here {here:.1e}, llama.cpp {there:.1e})"


def compare_greedy(llama, generator, tokenizer, prompts, margin, count=16):
    """How many tokens were compared, and the texts whose answers differ."""
    compared, different = 0, []
    ends = {tokenizer.special_tokens["eos"]}
    for text, prompt in prompts:
        sure = []
        while len(sure) < count:
            (best, first), (_, second) = sorted(
                llama.next_token(prompt + sure, 2).items(), key=lambda item: -item[1]
            )
            if first - second < margin or best in ends:
                break
            sure.append(best)
        compared += len(sure)
        theirs = [tokenizer.token(i) for i in sure]
        ours = generator.generate(text, max_tokens=len(sure), temperature=0).tokens if sure else []
        if ours != theirs:
            different.append((text, ours, theirs))
    return compared, different


def compare_vectors(llama, embedder, prompts):
    ours = embedder.embed([text for text, _ in prompts], normalize=True)
    return max(float(numpy.abs(v - llama.vector(tokens)).max()) for v, (_, tokens) in zip(ours, prompts))


def compare(path, count, prompts):
    fields = gguf.GGUFReader(path).fields
    architecture, size = fields["general.architecture"].contents(), len(fields["tokenizer.ggml.tokens"].data)
    tokenizer, vocabulary = qkv.Tokenizer.from_pretrained(path), Vocabulary(path)
    texts = texts_of(tokenizer, count)
    different = compare_tokens(vocabulary, tokenizer, texts)
    result = [f"tokens of {len(different)} of {count} texts differ"]
    same = [
        t for t in texts if t.strip() and 0 < len(tokenizer.encode(t)) < 24 and all(t != d[0] for d in different)
    ]
    few = [(text, vocabulary.tokens(text, add_special=True)) for text in same[:prompts]]
    if architecture == "bert":
        llama = LlamaCpp(path, tokenizer, embeds=True)
        result.append(f"vectors {compare_vectors(llama, qkv.Embedder(path), few):.1e}")
    elif architecture != "t5":
        llama = LlamaCpp(path, tokenizer, embeds=False)
        noise, text = compare_probabilities(llama, path, tokenizer, same[:prompts], size)
        result.append(text)
        compared, answers = compare_greedy(llama, qkv.Generator(path), tokenizer, few, max(MARGIN, 2 * noise))
        result.append(f"{len(answers)} of {len(few)} greedy answers ({compared} tokens) differ")
        different += answers
    print(f"{path.name}: {', '.join(result)}", flush=True)
    return different


@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
def quiet(level, text, data):
    pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--prompts", type=int, default=20)
    parser.add_argument("--show", type=int, default=3, help="differences of each file that are printed")
    given = parser.parse_args()
    LIBRARY.llama_log_set(ctypes.cast(quiet, ctypes.c_void_p), None)
    for path in given.files:
        for text, ours, theirs in compare(path, given.texts, given.prompts)[: given.show]:
            print(f"  {text!r}\n    here      {ours}\n    llama.cpp {theirs}")
    sys.stdout.flush()
    os._exit(0)
