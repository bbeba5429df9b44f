"""Whole models of Hugging Face with the results that are known of them, in float64 and without this package.

    QKV_TEST_CHECKPOINTS=folder pytest python/test/test_checkpoints.py

The folder has one for each model, as save_pretrained() leaves it, with two files more: reference.safetensors holds
inputs and results under the names used here, reference.json the norms of gradients and the settings of generate().
Without it nothing is tested here; test_huggingface.py makes small models of its own.
"""

import json
import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
folder = Path(os.environ.get("QKV_TEST_CHECKPOINTS", "/nonexistent"))
if not folder.is_dir():
    pytest.skip("QKV_TEST_CHECKPOINTS names no folder of checkpoints", allow_module_level=True)

from safetensors.torch import load_file

import qkv.huggingface

qkv.huggingface.register()
transformers.logging.set_verbosity_error()

decoders = ["gpt2", "llama", "mistral", "gemma2", "opt"]
pairs = ["marian", "t5"]
honouring = [*decoders, *pairs, "bert"]
refusing = ["falcon", "falcon-alibi", "bloom", "longformer", "big-bird"]


def known(name):
    if not (folder / name).is_dir():
        pytest.skip(f"there is no {name}")
    return load_file(folder / name / "reference.safetensors"), json.loads(
        (folder / name / "reference.json").read_text()
    )


def loaded(name, attention="qkv", **options):
    config = transformers.AutoConfig.from_pretrained(folder / name)
    kind = getattr(transformers, config.architectures[0])
    return kind.from_pretrained(folder / name, attn_implementation=attention, **options).eval()


def inputs_of(reference):
    names = ("input_ids", "attention_mask", "token_type_ids", "decoder_input_ids", "decoder_attention_mask")
    return {name: reference[name].long() for name in names if name in reference}


def labels_of(reference):
    if "labels" in reference:
        return reference["labels"].long()
    return reference["input_ids"].long().masked_fill(reference["attention_mask"] == 0, -100)


def expect_near(got, wanted, seen=None, tolerance=1e-4):
    """Rows of padding are unspecified."""
    if seen is not None:
        got, wanted = got[seen], wanted[seen]
    assert got.shape == wanted.shape and (got - wanted).abs().max() <= tolerance


@pytest.mark.parametrize("name", honouring)
def test_logits_weights_loss_and_gradients(name):
    reference, about = known(name)
    model, inputs = loaded(name), inputs_of(reference)
    qkv.huggingface.check(model)
    of_outputs = inputs.get("decoder_attention_mask", inputs["attention_mask"]).bool()
    out = (
        model(**inputs, use_cache=False, output_attentions=True)
        if name != "bert"
        else model(**inputs, output_attentions=True)
    )
    expect_near(out.logits, reference["logits"], of_outputs)
    expect_near(out.logits, loaded(name, "eager")(**inputs).logits, of_outputs)
    for kind, queries in (
        ("attentions", of_outputs),
        ("decoder_attentions", of_outputs),
        ("cross_attentions", of_outputs),
        ("encoder_attentions", inputs["attention_mask"].bool()),
    ):
        for layer, weights in enumerate(getattr(out, kind, None) or ()):
            if f"{kind}.{layer}" in reference:
                expect_near(weights.transpose(1, 2), reference[f"{kind}.{layer}"].transpose(1, 2), queries)
    loss = model(**inputs, labels=labels_of(reference)).loss
    assert loss.item() == pytest.approx(reference["loss"].item(), rel=1e-5)
    loss.backward()
    parameters = dict(model.named_parameters())
    for parameter, (norm, product) in about["grads"].items():
        if parameter in parameters and parameters[parameter].grad is not None:
            grad = parameters[parameter].grad
            assert grad.norm().item() == pytest.approx(norm, rel=1e-3, abs=1e-5), parameter
            assert (grad * parameters[parameter]).sum().item() == pytest.approx(
                product, rel=1e-3, abs=1e-3 * norm + 1e-5
            ), parameter
    assert any(p in parameters for p in about["grads"])


def prompt_of(name, reference):
    if name in pairs:
        return dict(input_ids=reference["input_ids"].long(), attention_mask=reference["attention_mask"].long())
    return dict(
        input_ids=reference["generate.input_ids"].long(), attention_mask=reference["generate.attention_mask"].long()
    )


def ids_of(model, name, reference, about, stops=None, **options):
    config = model.generation_config
    config.bad_words_ids = config.forced_eos_token_id = None
    config.eos_token_id, config.pad_token_id = stops, about["generate"]["generate"]["pad_token_id"]
    config.num_beams = 1
    return model.generate(
        **prompt_of(name, reference),
        max_new_tokens=about["generate"]["generate"]["new_tokens"],
        do_sample=False,
        **options,
    )


@pytest.mark.parametrize("cache", ["dynamic", "static", "none"])
@pytest.mark.parametrize("name", [*decoders, *pairs])
def test_greedy_ids(name, cache):
    """Prompts are padded on the left. Mistral and Gemma 2 keep a window of their past only."""
    reference, about = known(name)
    options = {"dynamic": {}, "static": dict(cache_implementation="static"), "none": dict(use_cache=False)}[cache]
    model = loaded(name)
    got = ids_of(model, name, reference, about, **options)
    assert torch.equal(got, reference["generate.greedy_ids"].long())
    stop = about["generate"]["generate"]["eos_for_greedy_ids_with_eos"]
    got = ids_of(model, name, reference, about, stop, **options)
    wanted = reference["generate.greedy_ids_with_eos"].long()
    assert (
        torch.equal(got, wanted[:, : got.shape[1]])
        and (wanted[:, got.shape[1] :] == model.generation_config.pad_token_id).all()
    )


@pytest.mark.parametrize("name", ["gpt2", *pairs])
def test_beams(name):
    reference, about = known(name)
    settings = about["generate"]["generate"]
    model = loaded(name)
    config = model.generation_config
    config.bad_words_ids = config.forced_eos_token_id = None
    config.eos_token_id, config.pad_token_id = settings["eos_for_beams"], settings["pad_token_id"]
    more = {key: settings[key] for key in ("num_beams", "length_penalty", "early_stopping", "num_return_sequences")}
    got = model.generate(
        **prompt_of(name, reference),
        max_new_tokens=settings["new_tokens"],
        do_sample=False,
        return_dict_in_generate=True,
        output_scores=True,
        **more,
    )
    wanted = reference["generate.beam_ids"].long()
    assert torch.equal(got.sequences, wanted[:, : got.sequences.shape[1]])
    expect_near(got.sequences_scores, reference["generate.beam_scores"])


@pytest.mark.parametrize("name", decoders)
def test_a_prompt_in_two_pieces(name):
    reference, _ = known(name)
    model, ids = loaded(name), reference["input_ids"].long()[:1, : int(reference["attention_mask"][0].sum())]
    whole = model(ids, use_cache=False).logits
    first = model(ids[:, :7], use_cache=True)
    second = model(ids[:, 7:], past_key_values=first.past_key_values)
    expect_near(torch.cat([first.logits, second.logits], 1), whole)


@pytest.mark.parametrize(
    "name", ["gpt2", "llama", "mistral", "gemma2"]
)  # the position ids of opt are not asked for documents
def test_documents_packed_into_one_row(name):
    reference, _ = known(name)
    model, ids = loaded(name), reference["input_ids"].long()
    lengths = reference["attention_mask"].sum(1).tolist()
    packed = torch.cat([row[:n] for row, n in zip(ids, lengths)])[None]
    places = torch.cat([torch.arange(n) for n in lengths])[None]
    apart = torch.cat([model(row[None, :n], use_cache=False).logits[0] for row, n in zip(ids, lengths)])[None]
    together = model(packed, position_ids=places, use_cache=False).logits
    expect_near(together, apart)
    expect_near(together, loaded(name, "eager")(packed, position_ids=places, use_cache=False).logits)


@pytest.mark.parametrize("name", honouring)
def test_training_steps_take_the_same_way(name):
    reference, _ = known(name)
    ways = []
    for attention in ("eager", "qkv"):
        model = loaded(name, attention)
        optimizer = torch.optim.SGD(model.parameters(), 0.05)
        losses = []
        for _ in range(10):
            loss = model(**inputs_of(reference), labels=labels_of(reference)).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        ways.append(losses)
    assert ways[0] == pytest.approx(ways[1], rel=1e-4) and ways[1][-1] < ways[1][0]


@pytest.mark.parametrize("name", honouring)
def test_bfloat16(name):
    reference, _ = known(name)
    inputs = inputs_of(reference)
    seen = inputs.get("decoder_attention_mask", inputs["attention_mask"]).bool()
    errors = [
        (loaded(name, attention, dtype=torch.bfloat16)(**inputs).logits.float() - reference["logits"])[seen]
        .abs()
        .max()
        for attention in ("qkv", "eager")
    ]
    assert errors[0] <= 2 * errors[1]


@pytest.mark.parametrize("name", refusing)
def test_models_with_attention_of_their_own_are_refused(name):
    known(name)
    with pytest.raises(ValueError, match="attention of its own"):
        qkv.huggingface.check(loaded(name, "eager"))
