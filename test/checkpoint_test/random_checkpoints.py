#!/usr/bin/env python3
"""Tiny random checkpoints of the families that are read, with their settings drawn at random, and the results that
transformers gets from them in float64: what test/checkpoints/README.md describes, without tokenizers.

    python3 test/checkpoint_test/random_checkpoints.py --output DIR --count 20 --seed 1
    build/test/checkpoint_test --models DIR

Needs torch and transformers.
"""

import argparse
import json
import random
import shutil
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file


class Draw:
    """Settings of one model."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, *values):
        return self.random.choice(values)

    def some(self, **settings):
        """About half of the settings, each with one of its values."""
        return {k: self.one(*v) for k, v in settings.items() if self.random.random() < 0.5}


def heads(d):
    """(heads, key heads, width)"""
    groups, per_group, width = d.one(1, 2, 3), d.one(1, 2), d.one(4, 8, 12)
    return groups * per_group, groups, groups * per_group * width


def rope(d, length, theta=(10000.0, 500.0)):
    base = {"rope_theta": d.one(*theta)}
    kind = d.one("default", "default", "linear", "dynamic", "yarn", "llama3")
    if kind == "default":
        return base | {"rope_type": "default"}
    factor = d.one(2.0, 3.5)
    more = {
        "linear": {},
        "dynamic": {},
        "yarn": {"original_max_position_embeddings": length // 2}
        | d.some(beta_fast=[16.0], beta_slow=[2.0], attention_factor=[1.3], mscale=[0.7], mscale_all_dim=[0.9]),
        "llama3": {
            "original_max_position_embeddings": length // 2,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
        },
    }
    return base | {"rope_type": kind, "factor": factor} | more[kind]


def stack(d, **more):
    h, g, width = heads(d)
    return dict(
        vocab_size=d.one(64, 97),
        hidden_size=width,
        intermediate_size=d.one(24, 40),
        num_hidden_layers=d.one(1, 2, 3),
        num_attention_heads=h,
        max_position_embeddings=64,
        **more,
    ), g


def gpt2(d):
    h, _, width = heads(d)
    return transformers.GPT2Config(
        vocab_size=d.one(64, 97),
        n_embd=width,
        n_layer=d.one(1, 2, 3),
        n_head=h,
        n_positions=64,
        **d.some(
            n_inner=[24, 40],
            activation_function=["gelu_new", "gelu", "relu", "silu", "gelu_pytorch_tanh"],
            scale_attn_by_inverse_layer_idx=[True],
            scale_attn_weights=[False],
            layer_norm_epsilon=[1e-3],
            tie_word_embeddings=[False],
        ),
    )


def opt(d):
    settings, _ = stack(d)
    settings["ffn_dim"] = settings.pop("intermediate_size")
    return transformers.OPTConfig(
        **settings,
        **({"word_embed_proj_dim": settings["hidden_size"] // 2} if d.one(0, 1) else
           {"word_embed_proj_dim": settings["hidden_size"]}),
        **d.some(
            do_layer_norm_before=[False],
            enable_bias=[False],
            activation_function=["gelu", "relu"],
            tie_word_embeddings=[False],
        ),
    )


def bloom(d):
    h, _, width = heads(d)
    return transformers.BloomConfig(
        vocab_size=64,
        hidden_size=width,
        n_layer=d.one(1, 2),
        n_head=h,
        **d.some(layer_norm_epsilon=[1e-3], tie_word_embeddings=[False]),
    )


def gpt_neox(d):
    settings, _ = stack(d)
    return transformers.GPTNeoXConfig(
        **settings,
        rope_parameters=rope(d, 64) | {"partial_rotary_factor": d.one(0.5, 1.0)},
        **d.some(
            use_parallel_residual=[False],
            attention_bias=[False],
            tie_word_embeddings=[True],
            hidden_act=["gelu", "relu", "gelu_new"],
            layer_norm_eps=[1e-3],
        ),
    )


def llama(d):
    settings, g = stack(d, rope_parameters=rope(d, 64))
    return transformers.LlamaConfig(
        **settings,
        num_key_value_heads=g,
        **d.some(
            head_dim=[8, 12],
            attention_bias=[True],
            mlp_bias=[True],
            tie_word_embeddings=[True],
            hidden_act=["gelu", "silu", "relu"],
            rms_norm_eps=[1e-3],
        ),
    )


def mistral(d):
    settings, g = stack(d, rope_parameters=rope(d, 64))
    return transformers.MistralConfig(
        **settings,
        num_key_value_heads=g,
        sliding_window=d.one(None, 4, 64),
        **d.some(head_dim=[8, 12], tie_word_embeddings=[True], hidden_act=["gelu"]),
    )


def qwen2(d):
    settings, g = stack(d, rope_parameters=rope(d, 64))
    return transformers.Qwen2Config(
        **settings,
        num_key_value_heads=g,
        **d.some(
            use_sliding_window=[True], sliding_window=[4, 5], max_window_layers=[0, 1], tie_word_embeddings=[True]
        ),
    )


def qwen3(d):
    settings, g = stack(d, rope_parameters=rope(d, 64))
    return transformers.Qwen3Config(
        **settings,
        num_key_value_heads=g,
        head_dim=d.one(8, 12),
        **d.some(
            use_sliding_window=[True],
            sliding_window=[4],
            max_window_layers=[0, 1],
            tie_word_embeddings=[True],
            attention_bias=[True],
        ),
    )


def phi3(d):
    settings, g = stack(d)
    return transformers.Phi3Config(
        **settings,
        num_key_value_heads=g,
        pad_token_id=0,
        original_max_position_embeddings=64,
        rope_parameters={
            "rope_type": "default",
            "rope_theta": 10000.0,
            "partial_rotary_factor": d.one(1.0, 0.5),
        },
        **d.some(sliding_window=[4], tie_word_embeddings=[True], resid_pdrop=[0.1]),
    )


def gemma2(d):
    settings, g = stack(d)
    return transformers.Gemma2Config(
        **settings,
        num_key_value_heads=g,
        head_dim=d.one(8, 12),
        sliding_window=d.one(4, 64),
        query_pre_attn_scalar=d.one(8, 20),
        **d.some(
            attn_logit_softcapping=[None, 5.0],
            final_logit_softcapping=[None, 3.0],
            attention_bias=[True],
            tie_word_embeddings=[False],
            hidden_activation=["gelu", "silu"],
        ),
    )


def gemma3(d):
    settings, g = stack(d)
    return transformers.Gemma3TextConfig(
        **settings,
        num_key_value_heads=g,
        head_dim=d.one(8, 12),
        sliding_window=4,
        query_pre_attn_scalar=d.one(8, 20),
        **d.some(
            layer_types=[
                [d.one("full_attention", "sliding_attention") for _ in range(settings["num_hidden_layers"])]
            ],
            final_logit_softcapping=[3.0],
            attn_logit_softcapping=[5.0],
            attention_bias=[True],
        ),
    )


def falcon(d):
    h, g, width = heads(d)
    new = d.one(True, False)
    parallel = new or d.one(True, False)
    alibi = d.one(True, False)
    return transformers.FalconConfig(
        vocab_size=64,
        hidden_size=width,
        num_hidden_layers=d.one(1, 2),
        num_attention_heads=h,
        num_kv_heads=g if new else None,
        new_decoder_architecture=new,
        multi_query=d.one(True, False),
        parallel_attn=parallel,
        alibi=alibi,
        bias=d.one(True, False),
        max_position_embeddings=64,
        **({"num_ln_in_parallel_attn": d.one(None, 1, 2)} if new else {}),
        **d.some(ffn_hidden_size=[24], activation=["gelu", "relu"], tie_word_embeddings=[False]),
    )


def bert(d, kind=transformers.BertConfig, **more):
    settings, _ = stack(d)
    return kind(
        **settings,
        **more,
        **d.some(
            hidden_act=["gelu", "relu", "gelu_new"],
            layer_norm_eps=[1e-3],
            type_vocab_size=[1, 3],
            tie_word_embeddings=[False],
        ),
    )


def roberta(d):
    return bert(d, transformers.RobertaConfig, pad_token_id=d.one(0, 1))


def distilbert(d):
    h, _, width = heads(d)
    return transformers.DistilBertConfig(
        vocab_size=64,
        dim=width,
        hidden_dim=24,
        n_layers=d.one(1, 2),
        n_heads=h,
        max_position_embeddings=64,
        **d.some(sinusoidal_pos_embds=[True], activation=["relu", "gelu"], tie_word_embeddings=[False]),
    )


def longformer(d):
    return bert(d, transformers.LongformerConfig, attention_window=d.one(4, 8), pad_token_id=1)


def big_bird(d):
    return bert(
        d,
        transformers.BigBirdConfig,
        block_size=d.one(2, 3),
        num_random_blocks=d.one(1, 2),
        attention_type=d.one("block_sparse", "original_full"),
        **d.some(use_bias=[False], rescale_embeddings=[True]),
    )


def t5(d, kind=transformers.T5Config):
    return kind(
        vocab_size=64,
        d_model=d.one(16, 24),
        d_kv=d.one(4, 8),
        d_ff=24,
        num_layers=d.one(1, 2),
        num_decoder_layers=d.one(1, 2),
        num_heads=d.one(2, 3),
        decoder_start_token_id=0,
        dropout_rate=0.0,
        **d.some(
            feed_forward_proj=["relu", "gated-gelu", "gated-silu", "gelu"],
            tie_word_embeddings=[True, False],
            relative_attention_num_buckets=[8, 16],
            relative_attention_max_distance=[20],
            layer_norm_epsilon=[1e-3],
        ),
    )


def mpnet(d):
    return bert(d, transformers.MPNetConfig, pad_token_id=1)


def xlm_roberta(d):
    return bert(d, transformers.XLMRobertaConfig, pad_token_id=1)


def mt5(d):
    return t5(d, transformers.MT5Config)


def pair(d, kind, **more):
    width, h = d.one((16, 2), (24, 3))
    return kind(
        vocab_size=64,
        d_model=width,
        encoder_layers=d.one(1, 2),
        decoder_layers=d.one(1, 2),
        encoder_attention_heads=h,
        decoder_attention_heads=h,
        encoder_ffn_dim=24,
        decoder_ffn_dim=d.one(24, 32),
        max_position_embeddings=64,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
        **d.some(scale_embedding=[True], activation_function=["gelu", "relu", "swish"], **more),
    )


def bart(d):
    return pair(d, transformers.BartConfig)


def m2m100(d):
    return pair(d, transformers.M2M100Config)


def marian(d):
    config = pair(d, transformers.MarianConfig)
    if d.one(True, False):
        config.share_encoder_decoder_embeddings = False
        config.tie_word_embeddings = d.one(True, False)
        config.decoder_vocab_size = d.one(64, 80)
    config.pad_token_id = config.decoder_start_token_id = 63
    return config


def pegasus(d):
    return pair(d, transformers.PegasusConfig)


FAMILIES = [
    gpt2, opt, bloom, gpt_neox, llama, mistral, qwen2, qwen3, phi3, gemma2, gemma3, falcon,
    bert, roberta, xlm_roberta, mpnet, distilbert, longformer, big_bird, t5, mt5, bart, m2m100, marian, pegasus,
]  # fmt: skip
MASKED = {bert, roberta, xlm_roberta, mpnet, distilbert, longformer, big_bird}
PAIRS = {t5, mt5, bart, m2m100, marian, pegasus}
NEW = 10  # generated tokens


def made(family, config, seed):
    kind = (
        transformers.AutoModelForMaskedLM if family in MASKED
        else transformers.AutoModelForSeq2SeqLM if family in PAIRS
        else transformers.AutoModelForCausalLM
    )  # fmt: skip
    torch.manual_seed(seed)
    model = kind.from_config(config, attn_implementation="sdpa" if family is falcon else "eager")
    for name, p in model.named_parameters():
        if not p.requires_grad:  # sinusoids
            continue
        with torch.no_grad():
            if p.dim() > 1:
                p.normal_(0, 1.4 / p.shape[-1] ** 0.5)
            elif "norm" in name.lower() or "ln" in name:
                p.add_(0.2 * torch.randn_like(p))
            else:
                p.normal_(0, 0.2)
    for name, b in model.named_buffers():
        if "final_logits_bias" in name:
            b.normal_(0, 0.5)
    return model.eval()


def inputs_of(family, config, seed):
    generator = torch.Generator().manual_seed(seed)
    vocabulary = config.vocab_size
    width = 41 if family is big_bird else 18
    lengths = [width, width - 7]
    ids = torch.randint(3, vocabulary - 1, (2, width), generator=generator)
    mask = (torch.arange(width)[None] < torch.tensor(lengths)[:, None]).long()
    pad = config.pad_token_id if config.pad_token_id is not None else 0
    ids = ids.masked_fill(mask == 0, pad)
    inputs = {"input_ids": ids, "attention_mask": mask}
    if family is longformer:
        inputs["global_attention_mask"] = torch.zeros_like(ids)
        inputs["global_attention_mask"][0, [0, 5]] = inputs["global_attention_mask"][1, 0] = 1
    if family in (bert, big_bird):
        inputs["token_type_ids"] = torch.randint(0, config.type_vocab_size, (2, width), generator=generator) * mask
    if family in MASKED:
        chosen = torch.rand((2, width), generator=generator) < 0.3
        chosen[:, 1] = True
        inputs["labels"] = ids.masked_fill(~chosen | (mask == 0), -100)
    elif family in PAIRS:
        targets = torch.randint(
            3, getattr(config, "decoder_vocab_size", vocabulary) - 1 if family is marian else vocabulary - 1,
            (2, 12), generator=generator,
        )  # fmt: skip
        of_target = (torch.arange(12)[None] < torch.tensor([[12], [8]])).long()
        start = torch.full((2, 1), config.decoder_start_token_id)
        inputs["decoder_input_ids"] = torch.cat([start, targets[:, :-1]], 1).masked_fill(of_target == 0, pad)
        inputs["decoder_attention_mask"] = of_target
        inputs["labels"] = targets.masked_fill(of_target == 0, -100)
    return inputs


def rows_alone(family, config, inputs):
    """Every row without its padding; a window may leave a row of padding without keys, which is no number there. The
    blocks and windows of the encoders depend on the length of the batch."""
    if family in (longformer, big_bird):
        return [inputs]
    rows = []
    for b, (n, m) in enumerate(zip(inputs["attention_mask"].sum(1), valid_of(inputs).sum(1), strict=True)):
        of_target = {"decoder_input_ids", "decoder_attention_mask"} | ({"labels"} if family in PAIRS else set())
        rows.append({k: v[b : b + 1, : (m if k in of_target else n)] for k, v in inputs.items()})
    return rows


def valid_of(inputs):
    return inputs.get("decoder_attention_mask", inputs["attention_mask"])


def references(family, model, config, inputs):
    exact = model.double()
    exact.zero_grad()
    outputs, loss, count = [], 0, 0
    for row in rows_alone(family, config, inputs):
        feed = dict(row)
        if family not in MASKED and family not in PAIRS:
            feed["labels"] = row["input_ids"].masked_fill(row["attention_mask"] == 0, -100)
            feed["use_cache"] = False
        out = exact(**feed)
        outputs.append(out)
        labels = feed["labels"] if family in MASKED or family in PAIRS else feed["labels"][:, 1:]
        n = int((labels != -100).sum())
        loss, count = loss + out.loss * n, count + n
    loss = loss / count
    loss.backward()

    def assembled(of, mask):
        whole = torch.zeros(*mask.shape, of(outputs[0]).shape[-1])
        for b, out in enumerate(outputs):
            part = of(out).detach().float()
            whole[b : b + len(part), : part.shape[1]] = part
        return whole * mask[..., None]

    tensors = {k: v.int() for k, v in inputs.items()}
    tensors["logits"] = assembled(lambda out: out.logits, valid_of(inputs))
    tensors["loss"] = loss.detach().float()
    if family in PAIRS:
        tensors["encoder_last_hidden_state"] = assembled(
            lambda out: out.encoder_last_hidden_state, inputs["attention_mask"]
        )
    grads = {
        name: [p.grad.norm().item(), (p.grad * p).sum().item()]
        for name, p in exact.named_parameters()
        if p.grad is not None
    }
    return tensors, grads


def depends_on_length(config):
    return (getattr(config, "rope_parameters", None) or {}).get("rope_type") in ("dynamic", "longrope")


def generated(family, model, config, inputs):
    """Greedy ids with a cache in float32, where the best token always leads clearly."""
    if family in MASKED or depends_on_length(config):
        return {}, None
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    if family not in PAIRS:  # padding on the left
        lengths = mask.sum(1)
        ids = torch.stack([row.roll(int(len(row) - n)) for row, n in zip(ids, lengths, strict=True)])
        mask = mask.flip(1)
    options = dict(max_new_tokens=NEW, do_sample=False, num_beams=1, eos_token_id=None, use_cache=True)
    model.generation_config = transformers.GenerationConfig(
        pad_token_id=config.pad_token_id or 0, decoder_start_token_id=getattr(config, "decoder_start_token_id", None)
    )
    out = model.float().generate(
        ids, attention_mask=mask, output_logits=True, return_dict_in_generate=True, **options
    )
    logits = torch.stack(out.logits, 1).float()
    best = logits.topk(2, -1).values
    if (best[..., 0] - best[..., 1]).min() < 0.01:
        return {}, None
    chosen = out.sequences[:, -NEW:]
    if config.pad_token_id is not None and (chosen == config.pad_token_id).any():
        return {}, None  # which does not count as a position in some
    log_probabilities = logits.log_softmax(-1).gather(2, chosen[..., None])[..., 0]
    tensors = {"generate.greedy_ids": out.sequences.int(), "generate.greedy_logprobs": log_probabilities}
    if family not in PAIRS:
        tensors |= {"generate.input_ids": ids.int(), "generate.attention_mask": mask.int()}
    return tensors, {"generate": {"new_tokens": NEW, "pad_token_id": config.pad_token_id or 0}}


def write(family, seed, folder):
    config = family(Draw(f"{family.__name__} {seed}"))
    model = made(family, config, seed)
    model.save_pretrained(folder)
    inputs = inputs_of(family, config, seed)
    greedy, settings = generated(family, model, config, inputs)
    tensors, grads = references(family, model, config, inputs)
    reference = {"grads": grads, "seed": seed}
    if settings:
        reference["generate"] = settings
    if depends_on_length(config):
        reference["with_and_without_cache"] = True
    save_file({k: v.contiguous() for k, v in (tensors | greedy).items()}, folder / "reference.safetensors")
    (folder / "reference.json").write_text(json.dumps(reference))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--count", type=int, default=5, help="of every family (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--families", nargs="+", choices=[f.__name__ for f in FAMILIES])
    a = parser.parse_args()
    transformers.logging.set_verbosity_error()
    for family in FAMILIES:
        if a.families and family.__name__ not in a.families:
            continue
        for n in range(a.count):
            seed = a.seed * 1000 + n
            folder = a.output / f"{family.__name__}_{seed}"
            try:
                write(family, seed, folder)
            except Exception as e:  # some settings are no model for transformers either
                print(f"{folder.name}: skipped: {type(e).__name__}: {e}")
                shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
