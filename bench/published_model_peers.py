"""What else computes a published model, for published_models.py: the peers that are installed.

Each gives {name: call}. ctranslate2 and llama-cpp-python read a conversion of the same weights, onnxruntime an
export of the model without a cache.
"""

import importlib.util

import numpy as np
import torch

NEW = 64


def has(module):
    return importlib.util.find_spec(module) is not None


def ctranslate2_folder(folder):
    import ctranslate2

    out = f"{folder}/ct2"
    ctranslate2.converters.TransformersConverter(folder).convert(out, force=True)
    return out


def ctranslate2_generator(folder, token, threads):
    """Prompts of that token: a first answer, and NEW tokens behind prompts of two."""
    if not has("ctranslate2"):
        return None
    import ctranslate2

    model = ctranslate2.Generator(
        ctranslate2_folder(folder), inter_threads=1, intra_threads=threads, compute_type="float32"
    )

    def generate(rows, length, new):
        options = dict(max_length=new, min_length=new, sampling_topk=1, include_prompt_in_result=False)
        model.generate_batch([[token] * length] * rows, **options)

    return generate


def ctranslate2_translator(folder, token, rows, length, threads):
    if not has("ctranslate2"):
        return {}
    import ctranslate2

    model = ctranslate2.Translator(
        ctranslate2_folder(folder), inter_threads=1, intra_threads=threads, compute_type="float32"
    )
    options = dict(beam_size=1, max_decoding_length=NEW, min_decoding_length=NEW)
    return {"ctranslate2": lambda: model.translate_batch([[token] * length] * rows, **options)}


def ctranslate2_encoder(folder, ids, threads):
    if not has("ctranslate2"):
        return {}
    import ctranslate2

    model = ctranslate2.Encoder(
        ctranslate2_folder(folder), inter_threads=1, intra_threads=threads, compute_type="float32"
    )
    rows = ids.tolist()

    def encode():
        return np.asarray(model.forward_batch(rows).last_hidden_state).mean(1)

    return {"ctranslate2": encode}


class Whole(torch.nn.Module):
    """The model as a function of ids, with one output."""

    def __init__(self, model, **options):
        super().__init__()
        self.model, self.options = model, options

    def forward(self, ids):
        return self.model(ids, return_dict=False, **self.options)[0]


def onnxruntime_call(model, ids, folder, threads, **options):
    if not (has("onnxruntime") and has("onnxscript")):
        return {}
    import onnxruntime

    file = f"{folder}/model.onnx"
    torch.onnx.export(Whole(model, **options), (ids,), file, dynamo=True, verbose=False)
    how = onnxruntime.SessionOptions()
    how.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(file, how, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: ids.numpy()}
    return {"onnxruntime": lambda: session.run(None, feed)}


def llama_cpp_generator(model, folder, threads):
    """A Llama in float32 as a GGUF file."""
    if not (has("llama_cpp") and has("gguf")):
        return None
    import gguf
    import llama_cpp

    c = model.config
    file = f"{folder}/model.gguf"
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_context_length(c.max_position_embeddings)
    writer.add_embedding_length(c.hidden_size)
    writer.add_block_count(c.num_hidden_layers)
    writer.add_feed_forward_length(c.intermediate_size)
    writer.add_head_count(c.num_attention_heads)
    writer.add_head_count_kv(c.num_key_value_heads)
    writer.add_rope_dimension_count(c.hidden_size // c.num_attention_heads)
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("llama")
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    kinds += [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * (c.vocab_size - 259)
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    writer.add_token_list(pieces + [f"t{n}" for n in range(c.vocab_size - 259)])
    writer.add_token_scores([0.0] * c.vocab_size)
    writer.add_token_types(kinds)
    names = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
        "lm_head.weight": "output.weight",
    }
    of_layer = {
        "input_layernorm": "attn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    for n in range(c.num_hidden_layers):
        names |= {f"model.layers.{n}.{a}.weight": f"blk.{n}.{b}.weight" for a, b in of_layer.items()}
    for name, tensor in model.state_dict().items():
        value = tensor.float()
        heads = {"q_proj": c.num_attention_heads, "k_proj": c.num_key_value_heads}.get(name.split(".")[-2])
        if heads:  # pairs side by side instead of half a head apart
            value = value.unflatten(0, (heads, 2, -1)).transpose(1, 2).reshape(value.shape)
        writer.add_tensor(names[name], value.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    llm = llama_cpp.Llama(
        file, n_ctx=512, n_batch=512, n_ubatch=512, n_threads=threads, n_threads_batch=threads, verbose=False
    )

    def generate(length, new):
        llm.reset()
        llm.eval([10] * length)
        for _ in range(new - 1):
            llm.eval([llm.sample(temp=0.0)])

    return generate
