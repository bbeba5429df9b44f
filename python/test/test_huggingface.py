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


# Families with attention of their own, patched. Falcon is compared with sdpa: its eager code adds ALiBi twice.
falcon = dict(vocab_size=97, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)
patched_decoders = {
    "bloom": lambda: transformers.BloomConfig(vocab_size=97, hidden_size=48, n_layer=2, n_head=6),
    "falcon-7b": lambda: transformers.FalconConfig(**falcon),
    "falcon-40b": lambda: transformers.FalconConfig(**falcon, new_decoder_architecture=True, num_kv_heads=2),
    "falcon-heads": lambda: transformers.FalconConfig(**falcon, multi_query=False, bias=True),
    "falcon-alibi": lambda: transformers.FalconConfig(**falcon, alibi=True),
    "big_bird": lambda: transformers.BigBirdConfig(**small, attention_type="original_full", is_decoder=True),
}


def patched(make, kind, eager=None):
    """The same weights with their attention and with its modules replaced."""
    config = make()
    eager = eager or ("sdpa" if config.model_type == "falcon" else "eager")
    torch.manual_seed(3)
    theirs = kind.from_config(config, attn_implementation=eager).eval()
    ours = kind.from_config(make()).eval()
    ours.load_state_dict(theirs.state_dict())
    assert qkv.huggingface.patch(ours) is ours
    return theirs, ours


@pytest.mark.parametrize("padding", ["none", "left"])
@pytest.mark.parametrize("name", patched_decoders)
def test_patched_decoders_give_the_same_logits_ids_and_gradients(name, padding):
    theirs, ours = patched(patched_decoders[name], transformers.AutoModelForCausalLM)
    seen = paddings[padding]
    options = {} if seen is None else dict(attention_mask=seen.long())
    expect_same(theirs(ids, **options).logits, ours(ids, **options).logits, seen)
    for model in (theirs, ours):
        labels = ids if seen is None else ids.masked_fill(~seen | ~seen.roll(1, 1), -100)
        model(ids, labels=labels, use_cache=False, **options).loss.backward()
    for a, b in zip(theirs.parameters(), ours.parameters(), strict=True):
        if a.grad is not None:
            expect_same(a.grad, b.grad, tolerance=1e-3)
    wanted, got = (
        m.generate(ids, max_new_tokens=9, do_sample=False, pad_token_id=0, **options) for m in (theirs, ours)
    )
    assert torch.equal(wanted, got)


def test_a_patched_bloom_gives_its_weights():
    theirs, ours = patched(patched_decoders["bloom"], transformers.AutoModelForCausalLM)
    a, b = (m(ids, output_attentions=True).attentions for m in (theirs, ours))
    assert len(a) == len(b) == 2
    for x, y in zip(a, b, strict=True):
        expect_same(x, y)


def long_ids(length):
    return torch.randint(3, 97, (2, length), generator=torch.Generator().manual_seed(5))


def expect_same_states_and_gradients(theirs, ours, seen, *inputs, **options):
    results = [m(*inputs, **options).last_hidden_state for m in (theirs, ours)]
    expect_same(*results, seen)
    direction = torch.randn(results[0].shape, generator=torch.Generator().manual_seed(6)) * seen[..., None]
    for result in results:
        (result * direction).sum().backward()
    for a, b in zip(theirs.parameters(), ours.parameters(), strict=True):
        if a.grad is not None:
            expect_same(a.grad, b.grad, tolerance=1e-3)


@pytest.mark.parametrize("of_global", [None, [[0], [0]], [[0, 7, 40], [3]]])
@pytest.mark.parametrize("lengths", [(64, 64), (61, 50)])
def test_a_patched_longformer_gives_the_same_states_and_gradients(of_global, lengths):
    make = lambda: transformers.LongformerConfig(**{**small, "max_position_embeddings": 80}, attention_window=8)
    theirs, ours = patched(make, transformers.AutoModel)
    tokens = long_ids(max(lengths))
    seen = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    options = dict(attention_mask=seen.long())
    if of_global is not None:
        options["global_attention_mask"] = torch.zeros_like(tokens)
        for row, positions in enumerate(of_global):
            options["global_attention_mask"][row, positions] = 1
    expect_same_states_and_gradients(theirs, ours, seen, tokens, **options)
    weights = [m(tokens, output_attentions=True, **options).attentions for m in (theirs, ours)]
    for a, b in zip(*weights, strict=True):
        expect_same(a, b, tolerance=1e-3)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("length", [96, 100, 1024])
def test_a_patched_bigbird_gives_the_same_states_and_gradients(length, training):
    """Also while it trains: random blocks are drawn from the same seeds; for 1024 positions by another plan."""
    make = lambda: transformers.BigBirdConfig(
        **{**small, "max_position_embeddings": 1024},
        block_size=64 if length == 1024 else 8,
        num_random_blocks=2,
        attention_probs_dropout_prob=0.0,
        hidden_dropout_prob=0.0,
    )
    theirs, ours = patched(make, transformers.AutoModel)
    for m in (theirs, ours):
        m.train(training)
    seen = torch.arange(length)[None] < torch.tensor([[length], [length - 9]])
    expect_same_states_and_gradients(theirs, ours, seen, long_ids(length), attention_mask=seen.long())


def test_a_patched_bigbird_has_full_attention_for_short_texts_and_blocks_again():
    make = lambda: transformers.BigBirdConfig(**{**small, "max_position_embeddings": 128}, block_size=8)
    theirs, ours = patched(make, transformers.AutoModel)
    for m in (theirs, ours):
        m.set_attention_type("original_full")
    options = dict(attention_mask=paddings["right"].long())
    expect_same(theirs(ids, **options).last_hidden_state, ours(ids, **options).last_hidden_state, paddings["right"])
    for m in (theirs, ours):
        m.set_attention_type("block_sparse")
    assert type(ours.encoder.layer[0].attention.self).__module__ == "qkv.huggingface._big_bird"
    expect_same(theirs(long_ids(96)).last_hidden_state, ours(long_ids(96)).last_hidden_state)


def test_patch_and_check_say_what_each_is_for():
    with pytest.raises(ValueError, match=r"llama: patch\(\) knows .* other models take attn_implementation"):
        qkv.huggingface.patch(transformers.AutoModel.from_config(decoders["llama"]()))
    bloom = transformers.AutoModel.from_config(patched_decoders["bloom"]())
    with pytest.raises(ValueError, match=r"does not replace; qkv.huggingface.patch\(model\) does"):
        qkv.huggingface.check(bloom)
    qkv.huggingface.check(qkv.huggingface.patch(bloom))


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
