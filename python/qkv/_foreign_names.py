"""What other libraries call the arguments of qkv, so that a mistaken one is answered with ours."""

from __future__ import annotations

# name: (our name, how it is given); the first row whose argument the function has is the answer. Where there is
# none, the text says it all.
_table = {
    # PyTorch, JAX, flash-attn, xformers.
    "is_causal": [("mask", "mask=qkv.causal()")],
    "causal": [("mask", "mask=qkv.causal()")],
    "attn_mask": [
        ("mask", "mask=qkv.dense(table) for a table of booleans, modify=qkv.bias(b) for numbers that are added")
    ],
    "attn_bias": [("modify", "modify=qkv.bias(b)")],
    "bias": [("modify", "modify=qkv.bias(b)")],
    "key_padding_mask": [("mask", "mask=qkv.padding(lengths)")],
    "attention_mask": [("mask", "mask=qkv.padding(lengths)")],
    "key_value_seq_lengths": [("mask", "mask=qkv.padding(lengths)")],
    "block_mask": [("mask", "mask=qkv.mask_mod(rule)")],
    "mask_mod": [("mask", "mask=qkv.mask_mod(rule)")],
    "score_mod": [("modify", "modify=qkv.score_mod(f)")],
    "window_size": [("mask", "mask=qkv.window(radius)")],
    "local_window_size": [("mask", "mask=qkv.window(radius)")],
    "softcap": [("modify", "modify=qkv.softcap(cap)")],
    "alibi_slopes": [("modify", "modify=qkv.alibi(slopes)")],
    "dropout_p": [("dropout", "dropout=rate")],
    "softmax_scale": [("scale", "scale=factor")],
    "sm_scale": [("scale", "scale=factor")],
    "need_weights": [("return_weights", "return_weights=True")],
    "output_attentions": [("return_weights", "return_weights=True")],
    "return_attn_probs": [("return_weights", "return_weights=True")],
    "enable_gqa": [("mask", "no argument: k and v may have fewer heads than q")],
    "query": [("q", "q")],
    "key": [("k", "k")],
    "value": [("v", "v")],
    # transformers, vLLM, CTranslate2.
    "num_beams": [("beam", "beam")],
    "beam_size": [("beam", "beam")],
    "beam_width": [("beam", "beam")],
    "num_return_sequences": [("answers", "answers"), ("n_best", "n_best")],
    "num_hypotheses": [("n_best", "n_best"), ("answers", "answers")],
    "do_sample": [("temperature", "temperature, which is above 0 where tokens are drawn")],
    "temp": [("temperature", "temperature")],
    "max_new_tokens": [("max_tokens", "max_tokens"), ("max_length", "max_length")],
    "max_length": [("max_tokens", "max_tokens")],
    "max_decoding_length": [("max_length", "max_length"), ("max_tokens", "max_tokens")],
    "min_new_tokens": [("min_tokens", "min_tokens"), ("min_length", "min_length")],
    "repeat_penalty": [("repetition_penalty", "repetition_penalty")],
    "no_repeat_ngram_size": [("no_repeat_ngram", "no_repeat_ngram")],
    "stop_strings": [("stop", "stop")],
    "prompt_lookup_num_tokens": [("lookup", "lookup")],
    "num_assistant_tokens": [("draft_tokens", "draft_tokens")],
    "num_speculative_tokens": [("draft_tokens", "draft_tokens"), ("lookup", "lookup")],
    "assistant_model": [("draft", "draft=model, an argument of qkv.Generator")],
    "src_lang": [("source_language", "source_language")],
    "tgt_lang": [("target_language", "target_language")],
    "target_prefix": [("prefixes", "prefixes")],
    # Training.
    "lr": [("learning_rate", "learning_rate")],
    "batch_size": [("batch_sentences", "batch_sentences"), ("batch_tokens", "batch_tokens")],
    "max_batch_size": [("batch_tokens", "batch_tokens")],
    "epochs": [("max_epochs", "max_epochs")],
    "num_train_epochs": [("max_epochs", "max_epochs")],
    "steps": [("max_steps", "max_steps")],
    "warmup_steps": [("warmup", "warmup")],
    "gradient_accumulation_steps": [("accumulate", "accumulate")],
    "max_grad_norm": [("clip", "clip")],
    "vocab_size": [("vocabulary_size", "vocabulary_size")],
    "hidden_size": [("d_model", "d_model")],
    "num_heads": [("heads", "heads")],
    "nhead": [("heads", "heads")],
    "num_layers": [("decoder_layers", "decoder_layers (and encoder_layers)")],
    "output_dir": [("model", "model")],
    "device": [("", "qkv computes on the processor")],
}


def foreign_name(name: str, known: list[str]) -> str | None:
    """ "qkv calls it beam" for num_beams; None if the name is not known, or the function has no such argument."""
    for ours, how in _table.get(name, ()):
        if not ours:
            return how
        if ours in known:
            return f"qkv calls it {how}"
    return None


# name: what qkv has for it, of the functions and classes that others export.
_attributes = {
    "MultiheadAttention": "qkv.torch.MultiheadAttention, or qkv.MultiHeadAttention for arrays",
    "scaled_dot_product_attention": "qkv.torch.scaled_dot_product_attention, or qkv.attention",
    "flex_attention": "qkv.torch.flex_attention, or qkv.attention",
    "dot_product_attention": "qkv.attention",
    "flash_attn_func": "qkv.attention",
    "flash_attn_varlen_func": "qkv.attention_packed",
    "memory_efficient_attention": "qkv.attention",
    "create_block_mask": "qkv.mask_mod(rule), or qkv.torch.flex_attention, which takes a BlockMask of PyTorch",
    "causal_mask": "qkv.causal()",
    "padding_mask": "qkv.padding(lengths)",
    "sliding_window": "qkv.window(radius)",
    "plot_attention": "qkv.heatmap(weights)",
    "pipeline": "qkv.Translator, qkv.Generator, qkv.Embedder or qkv.MaskFiller",
    "AutoModel": "qkv.Translator, qkv.Generator, qkv.Embedder or qkv.MaskFiller",
    "AutoTokenizer": "qkv.Tokenizer",
    "load": "qkv.Translator(folder), qkv.Generator(folder), ...",
    "fit": "qkv.train",
    "set_num_threads": "qkv.set_threads(count)",
}


def foreign_attribute(name: str) -> str | None:
    """What qkv has for a name that others export; None if the name is not known."""
    return _attributes.get(name)
