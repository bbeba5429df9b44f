import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import qkv.huggingface

qkv.huggingface.register()

small = dict(
    vocab_size=97,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=64,
)
decoders = {
    "llama": lambda: transformers.LlamaConfig(**small, num_key_value_heads=2),
    "mistral": lambda: transformers.MistralConfig(**small, num_key_value_heads=2, sliding_window=5),
    "gemma2": lambda: transformers.Gemma2Config(
        **small, num_key_value_heads=2, head_dim=8, sliding_window=5, query_pre_attn_scalar=8
    ),
    "qwen2": lambda: transformers.Qwen2Config(
        **small, num_key_value_heads=2, use_sliding_window=True, sliding_window=5, max_window_layers=1
    ),
    "gpt-oss": lambda: transformers.GptOssConfig(
        **small, num_key_value_heads=2, head_dim=8, sliding_window=5, num_local_experts=2, num_experts_per_tok=1
    ),
    "gpt2": lambda: transformers.GPT2Config(vocab_size=97, n_embd=32, n_layer=2, n_head=4, n_positions=64),
    "opt": lambda: transformers.OPTConfig(
        vocab_size=97,
        hidden_size=32,
        ffn_dim=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        word_embed_proj_dim=32,
    ),
}
pairs = {
    "t5": lambda: transformers.T5Config(
        vocab_size=97, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0
    ),
    "bart": lambda: transformers.BartConfig(
        vocab_size=97,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=64,
    ),
    "marian": lambda: transformers.MarianConfig(
        vocab_size=97,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        pad_token_id=0,
        decoder_start_token_id=0,
        max_position_embeddings=64,
    ),
}


def both(make, kind):
    """The same weights with their attention and with this one."""
    torch.manual_seed(3)
    theirs = kind.from_config(make(), attn_implementation="eager").eval()
    ours = kind.from_config(make(), attn_implementation="qkv").eval()
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


ids = torch.randint(3, 97, (3, 17), generator=torch.Generator().manual_seed(5))
paddings = {
    "none": None,
    "right": torch.arange(17)[None] < torch.tensor([[17], [9], [4]]),
    "left": torch.arange(17)[None] >= torch.tensor([[0], [8], [13]]),
}


def expect_same(a, b, seen=None, tolerance=1e-4):
    if seen is not None:
        a, b = a[seen], b[seen]
    assert (a - b).abs().max() <= tolerance * max(1, a.abs().max())


@pytest.mark.parametrize("padding", paddings)
@pytest.mark.parametrize("name", decoders)
def test_decoders_give_the_same_logits_ids_and_gradients(name, padding):
    theirs, ours = both(decoders[name], transformers.AutoModelForCausalLM)
    seen = paddings[padding]
    options = {} if seen is None else dict(attention_mask=seen.long())
    expect_same(theirs(ids, **options).logits, ours(ids, **options).logits, seen)
    losses = []
    for model in (theirs, ours):
        # A token behind padding is predicted from padding, which sees nothing: there everyone may say what they
        # like.
        labels = ids if seen is None else ids.masked_fill(~seen | ~seen.roll(1, 1), -100)
        loss = model(ids, labels=labels, use_cache=False, **options).loss
        loss.backward()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for a, b in zip(theirs.parameters(), ours.parameters(), strict=True):
        if a.grad is not None:
            expect_same(a.grad, b.grad, tolerance=1e-3)
    if padding != "right":
        wanted, got = (
            m.generate(ids, max_new_tokens=9, do_sample=False, pad_token_id=0, **options) for m in (theirs, ours)
        )
        assert torch.equal(wanted, got)


@pytest.mark.parametrize("name", pairs)
def test_encoder_decoders_give_the_same_logits_and_ids(name):
    theirs, ours = both(pairs[name], transformers.AutoModelForSeq2SeqLM)
    options = dict(attention_mask=paddings["right"].long())
    expect_same(
        theirs(ids, decoder_input_ids=ids[:, :6], **options).logits,
        ours(ids, decoder_input_ids=ids[:, :6], **options).logits,
    )
    wanted, got = (m.generate(ids, max_new_tokens=9, do_sample=False, **options) for m in (theirs, ours))
    assert torch.equal(wanted, got)


def test_an_encoder_gives_the_same_states_and_weights():
    config = lambda: transformers.BertConfig(**small)
    theirs, ours = both(config, transformers.AutoModel)
    options = dict(attention_mask=paddings["right"].long(), output_attentions=True)
    a, b = theirs(ids, **options), ours(ids, **options)
    expect_same(a.last_hidden_state, b.last_hidden_state, paddings["right"])


@pytest.mark.parametrize("padding", ["none", "right"])
@pytest.mark.parametrize("name", ["llama", "mistral", "gemma2"])
def test_compiled_models_give_the_same(name, padding):
    _, model = both(decoders[name], transformers.AutoModelForCausalLM)
    seen = paddings[padding]
    options = dict(use_cache=False, **({} if seen is None else dict(attention_mask=seen.long())))
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        expect_same(model(ids, **options).logits, compiled(ids, **options).logits, seen)
    compiled(ids, labels=ids, **options).loss.backward()
    got = [x.grad.clone() for x in model.parameters()]
    model.zero_grad()
    model(ids, labels=ids, **options).loss.backward()
    for a, b in zip(model.parameters(), got, strict=True):
        expect_same(a.grad, b)


def test_masks_that_can_be_told_are_no_tables():
    from transformers import masking_utils as theirs

    lengths = dict(batch_size=2, q_length=9, kv_length=9, dtype=torch.float32)
    both_ways = theirs.and_masks(theirs.causal_mask_function, theirs.sliding_window_overlay(4))
    for function in (theirs.causal_mask_function, theirs.bidirectional_mask_function, both_ways):
        assert qkv.huggingface.mask(**lengths, mask_function=function) is None
        seen = torch.arange(9)[None] < torch.tensor([[9], [5]])
        assert torch.equal(qkv.huggingface.mask(**lengths, mask_function=function, attention_mask=seen), seen)
    other = theirs.or_masks(theirs.causal_mask_function, theirs.sliding_window_overlay(4))
    assert qkv.huggingface.mask(**lengths, mask_function=other).shape == (2, 1, 9, 9)


strangers = {
    "bloom": lambda: transformers.BloomConfig(vocab_size=97, hidden_size=32, n_layer=1, n_head=4),
    "falcon": lambda: transformers.FalconConfig(
        vocab_size=97, hidden_size=32, num_hidden_layers=1, num_attention_heads=4
    ),
    "gptj": lambda: transformers.GPTJConfig(vocab_size=97, n_embd=32, n_layer=1, n_head=4, rotary_dim=4),
    "gpt_neo": lambda: transformers.GPTNeoConfig(
        vocab_size=97, hidden_size=32, num_layers=1, num_heads=4, attention_types=[[["global"], 1]]
    ),
    "deberta": lambda: transformers.DebertaConfig(**small),
    "deberta-v2": lambda: transformers.DebertaV2Config(**small),
    "mpt": lambda: transformers.MptConfig(vocab_size=97, d_model=32, n_heads=4, n_layers=1),
    "xlnet": lambda: transformers.XLNetConfig(vocab_size=97, d_model=32, n_layer=1, n_head=4, d_inner=32),
    "longformer": lambda: transformers.LongformerConfig(**small, attention_window=4),
    "big_bird": lambda: transformers.BigBirdConfig(**small),
}


@pytest.mark.parametrize("name", strangers)
def test_families_with_attention_of_their_own_are_refused(name):
    with pytest.raises(ValueError, match=f"{name}: the model has an attention of its own, "):
        qkv.huggingface.check(transformers.AutoModel.from_config(strangers[name]()))


@pytest.mark.parametrize("name", [*decoders, *pairs])
def test_other_families_are_not(name):
    qkv.huggingface.check(transformers.AutoModel.from_config({**decoders, **pairs}[name]()))
