"""GGUF files of the models in test/checkpoints/, by the gguf package: CHECKPOINT-TYPE.gguf in a folder.

    pip install gguf==0.19.0 numpy safetensors
    python make_models.py FOLDER CHECKPOINT-TYPE...     python make_models.py . llama-q4_0 gpt2-q8_0 bert-f16 t5-q5_1

TYPE is that of matrices whose rows are whole blocks; others are f16, unless it is f32, and norms and biases are f32. Names
of tensors, the order of their rows and the metadata are those that convert_hf_to_gguf.py of llama.cpp writes.
"""

import base64
import json
import pathlib
import re
import struct
import sys

import gguf
import numpy
from gguf import GGMLQuantizationType, GGUFWriter
from safetensors.numpy import load_file

CHECKPOINTS = pathlib.Path(__file__).parent.parent / "checkpoints"

LLAMA = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.qkv_proj": "attn_qkv",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.gate_up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip
GEMMA = LLAMA | {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}  # fmt: skip
GPT2 = {
    "transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm",
    "ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm",
    "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
}  # fmt: skip
BLOOM = {
    "transformer.word_embeddings": "token_embd", "transformer.word_embeddings_layernorm": "token_embd_norm",
    "transformer.ln_f": "output_norm", "input_layernorm": "attn_norm", "ln_mlp": "attn_norm", "ln_attn": "attn_norm_2",
    "self_attention.query_key_value": "attn_qkv", "self_attention.dense": "attn_output",
    "post_attention_layernorm": "ffn_norm", "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down",
}  # fmt: skip
NEOX = {
    "gpt_neox.embed_in": "token_embd", "gpt_neox.final_layer_norm": "output_norm", "embed_out": "output",
    "input_layernorm": "attn_norm", "attention.query_key_value": "attn_qkv", "attention.dense": "attn_output",
    "post_attention_layernorm": "ffn_norm", "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down",
}  # fmt: skip
BERT = {
    "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
    "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
}  # fmt: skip
T5_LAYERS = {"encoder": {"0": "attn", "1": "ffn"}, "decoder": {"0": "attn", "1": "cross_attn", "2": "ffn"}}
T5 = {"wi": "ffn_up", "wi_0": "ffn_gate", "wi_1": "ffn_up", "wo": "ffn_down", "relative_attention_bias": "attn_rel_b"}


class Model:
    def __init__(self, checkpoint):
        self.folder = CHECKPOINTS / checkpoint
        self.config = json.loads((self.folder / "config.json").read_text())
        self.type = self.config["model_type"]
        self.tensors = load_file(self.folder / "model.safetensors")
        c = self.config
        self.heads = c.get("num_attention_heads") or c.get("n_head") or c.get("num_heads")
        self.width = c.get("hidden_size") or c.get("n_embd") or c.get("d_model")
        self.layers = c.get("num_hidden_layers") or c.get("n_layer") or c.get("num_layers")
        self.kv_heads = c.get("num_key_value_heads") or self.heads
        self.head_width = c.get("head_dim") or c.get("d_kv") or self.width // self.heads

    def architecture(self):
        return {"gpt_neox": "gptneox", "gemma3_text": "gemma3", "mistral": "llama"}.get(self.type, self.type)

    # --- names and rows of tensors

    def renamed(self, name):
        stem, ending = name.rsplit(".", 1)
        if self.type == "t5":
            return self.renamed_t5(stem) + "." + ending
        table = {"gpt2": GPT2, "bloom": BLOOM, "falcon": BLOOM, "gpt_neox": NEOX, "bert": BERT, "gemma2": GEMMA,
                 "gemma3_text": GEMMA}.get(self.type, LLAMA)  # fmt: skip
        if stem in table:
            return f"{table[stem]}.{ending}"
        layer, rest = re.fullmatch(r"(?:model\.layers|transformer\.h|gpt_neox\.layers|encoder\.layer)\.(\d+)\.(.*)", stem).groups()
        return f"blk.{layer}.{table[rest]}.{ending}"

    def renamed_t5(self, stem):
        for plain, new in (("shared", "token_embd"), ("lm_head", "output"), ("encoder.final_layer_norm", "enc.output_norm"),
                           ("decoder.final_layer_norm", "dec.output_norm")):  # fmt: skip
            if stem == plain:
                return new
        stack, block, layer, rest = re.fullmatch(r"(encoder|decoder)\.block\.(\d+)\.layer\.(\d)\.(.*)", stem).groups()
        kind, last = T5_LAYERS[stack][layer], rest.split(".")[-1]
        new = T5.get(last) or (f"{kind}_norm" if last == "layer_norm" else f"{kind}_{last}")
        return f"{stack[:3]}.blk.{block}.{new}"

    def converted(self, name, x):
        """The tensor as llama.cpp's converter writes it."""
        if self.architecture() == "llama" and re.search(r"\.(q|k)_proj\.", name):
            heads = self.heads if ".q_proj." in name else self.kv_heads
            return x.reshape(heads, 2, -1, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)
        if self.type == "gpt2" and x.ndim == 2 and re.search(r"\.c_(attn|proj|fc)\.", name):
            return x.T
        if self.type.startswith("gemma") and name.endswith("norm.weight"):
            return x + numpy.float32(1)
        if "query_key_value" in name:
            if self.type == "falcon":
                new = self.config.get("new_decoder_architecture")
                groups = self.config["num_kv_heads"] if new else 1 if self.config.get("multi_query", True) else self.heads
                x = x.reshape(groups, self.heads // groups + 2, self.head_width, *x.shape[1:])
                parts = x[:, :-2], x[:, -2], x[:, -1]
            else:
                x = x.reshape(self.heads, 3, self.head_width, *x.shape[1:])
                parts = x[:, 0], x[:, 1], x[:, 2]
            return numpy.concatenate([part.reshape(-1, *x.shape[3:]) for part in parts])
        return x

    def is_left_out(self, name):
        return self.type == "bert" and (name.startswith("cls.") or "pooler" in name)

    # --- metadata

    def add_settings(self, w):
        c, rope = self.config, self.config.get("rope_parameters") or {}
        rope = rope.get("full_attention", rope)
        w.add_embedding_length(self.width)
        w.add_block_count(self.layers)
        w.add_head_count(self.heads)
        w.add_context_length(c.get("max_position_embeddings") or c.get("n_positions") or 512)
        w.add_feed_forward_length(
            c.get("intermediate_size") or c.get("ffn_hidden_size") or c.get("d_ff") or c.get("n_inner") or 4 * self.width)
        w.add_file_type(1)
        eps = c.get("layer_norm_epsilon") or c.get("layer_norm_eps")
        if eps:
            w.add_layer_norm_eps(eps)
        if "rms_norm_eps" in c or self.type == "t5":
            w.add_layer_norm_rms_eps(c.get("rms_norm_eps") or eps)
        if self.type not in ("gpt2", "bloom", "bert", "gpt_neox"):
            kv = self.kv_heads
            if self.type == "falcon":
                kv = c["num_kv_heads"] if c.get("new_decoder_architecture") else 1
            w.add_head_count_kv(kv)
        if self.type not in ("gpt2", "bloom", "bert", "gpt_neox", "falcon"):
            w.add_key_length(self.head_width)
            w.add_value_length(self.head_width)
        if "rope_theta" in rope:
            w.add_rope_freq_base(rope["rope_theta"])
            share = rope.get("partial_rotary_factor") or 1
            w.add_rope_dimension_count(int(self.head_width * share))
        if rope.get("rope_type") == "linear":
            w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
            w.add_rope_scaling_factor(rope["factor"])
        if rope.get("rope_type") == "yarn":
            w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
            w.add_rope_scaling_factor(rope["factor"])
            w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        if rope.get("rope_type") == "longrope":
            original, limit = rope["original_max_position_embeddings"], c["max_position_embeddings"]
            factor = limit / original
            w.add_rope_scaling_orig_ctx_len(original)
            w.add_rope_scaling_attn_factors((1 + numpy.log(factor) / numpy.log(original)) ** 0.5)
        if self.type.startswith("gemma") or self.type == "mistral":
            w.add_sliding_window(c["sliding_window"])
        if self.type == "gemma3_text":
            w.add_sliding_window_pattern([t == "sliding_attention" for t in c["layer_types"]])
        if self.type == "gemma2":
            w.add_attn_logit_softcapping(c["attn_logit_softcapping"])
            w.add_final_logit_softcapping(c["final_logit_softcapping"])
        if self.type == "gpt_neox":
            w.add_parallel_residual(c["use_parallel_residual"])
        if self.type == "bert":
            w.add_causal_attention(False)
            w.add_pooling_type(gguf.PoolingType.MEAN)
        if self.type == "t5":
            w.add_relative_attn_buckets_count(c["relative_attention_num_buckets"])
            w.add_decoder_start_token_id(c["decoder_start_token_id"])
            w.add_decoder_block_count(c["num_decoder_layers"])

    def factors(self):
        """Tensors that are made of the settings of rotary positions."""
        rope = self.config.get("rope_parameters") or {}
        if rope.get("rope_type") == "longrope":
            return {"rope_factors_long.weight": rope["long_factor"], "rope_factors_short.weight": rope["short_factor"]}
        if rope.get("rope_type") != "llama3":
            return {}
        frequencies = rope["rope_theta"] ** -(numpy.arange(0, self.head_width, 2) / self.head_width)
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        old = rope["original_max_position_embeddings"]
        factors = []
        for wave in 2 * numpy.pi / frequencies:
            smooth = (old / wave - low) / (high - low)
            factors.append(1 if wave < old / high else rope["factor"] if wave > old / low
                           else 1 / ((1 - smooth) / rope["factor"] + smooth))  # fmt: skip
        return {"rope_freqs.weight": factors}

    # --- tokenizers

    def add_tokenizer(self, w):
        for name in ("tokenizer.model", "spiece.model"):
            if (self.folder / name).exists():
                return self.add_pieces(w, (self.folder / name).read_bytes())
        if (self.folder / "vocab.txt").exists():
            return self.add_words(w, (self.folder / "vocab.txt").read_text().splitlines())
        if not (self.folder / "tokenizer.json").exists():
            return None
        tokenizer = json.loads((self.folder / "tokenizer.json").read_text())
        if tokenizer["model"]["type"] == "Unigram":
            return self.add_unigram(w, tokenizer)
        return self.add_byte_level(w, tokenizer)

    def add_ids(self, w):
        c = self.config
        for key, add in (("bos_token_id", w.add_bos_token_id), ("eos_token_id", w.add_eos_token_id),
                         ("pad_token_id", w.add_pad_token_id)):  # fmt: skip
            if c.get(key) is not None:
                add(c[key])

    def add_pieces(self, w, data):
        pieces, normal = fields(data, 1), dict(fields_of(fields(data, 3)[0]))
        tokens = [(f[1], struct.unpack("<f", f[2])[0], f.get(3, 1)) for f in (dict(fields_of(p)) for p in pieces)]
        rows = self.config["vocab_size"]
        added = json.loads((self.folder / "tokenizer.json").read_text())["added_tokens"]
        while len(tokens) < rows:
            tokens.append((f"[PAD{len(tokens)}]".encode(), -1000.0, 5))
        for token in added:
            if token["id"] < rows and (token["id"] >= len(pieces) or tokens[token["id"]][2] not in (2, 3)):
                tokens[token["id"]] = (token["content"].encode(), -1000.0, 3 if token["special"] else 4)
        w.add_tokenizer_model("t5" if self.type == "t5" else "llama")
        w.add_tokenizer_pre("default")
        w.add_token_list([t[0].replace(b"\xe2\x96\x81", b" ") if t[2] == 4 else t[0] for t in tokens])
        w.add_token_scores([t[1] for t in tokens])
        w.add_token_types([t[2] for t in tokens])
        w.add_add_space_prefix(bool(normal.get(3, 1)))
        w.add_remove_extra_whitespaces(bool(normal.get(4, 1)))
        if normal.get(2):
            w.add_precompiled_charsmap(normal[2])
        self.add_ids(w)
        w.add_unk_token_id([t[2] for t in tokens].index(2))
        if self.type in ("llama", "gemma2", "gemma3_text"):
            w.add_add_bos_token(True)
            w.add_add_eos_token(False)

    def add_unigram(self, w, tokenizer):
        tokens, scores = map(list, zip(*tokenizer["model"]["vocab"]))
        types = [2 if i == tokenizer["model"]["unk_id"] else 1 for i in range(len(tokens))]
        for token in tokenizer["added_tokens"]:
            extra = token["content"].startswith("<extra_id_")
            if types[token["id"]] == 1:
                types[token["id"]] = 4 if extra else 3
        w.add_tokenizer_model("t5")
        w.add_tokenizer_pre("default")
        w.add_token_list(tokens)
        w.add_token_scores(scores)
        w.add_token_types(types)
        w.add_add_space_prefix(True)
        w.add_remove_extra_whitespaces(True)
        for part in tokenizer["normalizer"].get("normalizers", [tokenizer["normalizer"]]):
            if "precompiled_charsmap" in part:
                w.add_precompiled_charsmap(base64.b64decode(part["precompiled_charsmap"]))
        self.add_ids(w)
        w.add_unk_token_id(tokenizer["model"]["unk_id"])

    def add_words(self, w, words):
        special = [word.startswith("[") and word.endswith("]") for word in words]
        w.add_tokenizer_model("bert")
        w.add_tokenizer_pre("default")
        w.add_token_list([
            word if control else word[2:] if word.startswith("##") else "\u2581" + word
            for word, control in zip(words, special)])  # fmt: skip
        w.add_token_types([3 if control else 1 for control in special])
        w.add_token_type_count(2)
        for name, add in (("[CLS]", w.add_bos_token_id), ("[SEP]", w.add_sep_token_id), ("[UNK]", w.add_unk_token_id),
                          ("[PAD]", w.add_pad_token_id), ("[MASK]", w.add_mask_token_id)):  # fmt: skip
            add(words.index(name))

    def add_byte_level(self, w, tokenizer):
        rows = self.config["vocab_size"]
        tokens, types = [f"[PAD{i}]" for i in range(rows)], [5] * rows
        for token, number in tokenizer["model"]["vocab"].items():
            tokens[number], types[number] = token, 1
        for token in tokenizer["added_tokens"]:
            tokens[token["id"]], types[token["id"]] = token["content"], 3 if token["special"] else 4
        pre = {"qwen2": "qwen2", "qwen3": "qwen2", "falcon": "falcon", "bloom": "bloom", "mistral": "llama-bpe",
               "gpt_neox": "olmo"}  # fmt: skip
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre(pre.get(self.type, "gpt-2"))
        w.add_token_list(tokens)
        w.add_token_types(types)
        w.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in tokenizer["model"]["merges"]])
        self.add_ids(w)


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def fields_of(data):
    """The fields of a protobuf message: number and value."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            size = 4 if key & 7 == 5 else 8
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def fields(data, number):
    return [value for n, value in fields_of(data) if n == number]


def write(path, checkpoint, type_name):
    model = Model(checkpoint)
    kind = GGMLQuantizationType[type_name.upper()]
    w = GGUFWriter(path, model.architecture())
    model.add_settings(w)
    model.add_tokenizer(w)
    for name, factors in model.factors().items():
        w.add_tensor(name, numpy.array(factors, numpy.float32))
    tied = model.config.get("tie_word_embeddings", model.type == "t5")
    for name, x in model.tensors.items():
        name = re.sub(r"^bert\.", "", name)
        if model.is_left_out(name) or (tied and name == "lm_head.weight"):
            continue
        x, new = numpy.ascontiguousarray(model.converted(name, x.astype(numpy.float32))), model.renamed(name)
        is_matrix = x.ndim == 2 and not new.startswith(("position_embd", "token_types")) and "attn_rel_b" not in new
        if not is_matrix or kind == GGMLQuantizationType.F32:
            w.add_tensor(new, x)
        elif x.shape[-1] % gguf.GGML_QUANT_SIZES[kind][0]:
            w.add_tensor(new, x.astype(numpy.float16))
        else:
            w.add_tensor(new, gguf.quants.quantize(x, kind), raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


if __name__ == "__main__":
    for wanted in sys.argv[2:]:
        checkpoint, type_name = wanted.rsplit("-", 1)
        write(pathlib.Path(sys.argv[1]) / f"{wanted}.gguf", checkpoint, type_name)
