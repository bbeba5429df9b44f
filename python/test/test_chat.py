"""Generator.chat()."""

import pathlib

import pytest

import qkv

FOLDER = pathlib.Path(__file__).parents[2] / "test" / "gguf"
TURNS = "{% for m in messages %}{{ m.role ~ m.content }}{{ end }}{% endfor %}{{ 'a:' if add_generation_prompt }}"
MESSAGES = [{"role": "user", "content": "the cat"}]
GREEDY = {"temperature": 0, "max_tokens": 6}


@pytest.fixture(scope="module")
def generator():
    return qkv.Generator(FOLDER / "llama-q4_0.gguf")


def test_chat_continues_the_text_of_the_template(generator):
    how = {"chat_template": TURNS, "variables": {"end": "."}, **GREEDY}
    answer = generator.chat(MESSAGES, **how)
    assert isinstance(answer, qkv.GeneratedText) and answer.tokens
    assert "".join(generator.stream_chat(iter(MESSAGES), **how)) == answer.text
    other = generator.chat([*MESSAGES, {"role": "assistant", "content": "b"}], add_generation_prompt=False, **how)
    assert other.log_probability != answer.log_probability


def test_chat_takes_tools_and_documents(generator):
    template = "{{ tools | tojson }}{{ documents[0].text }}{{ messages | length }}"
    with_both = generator.chat([], chat_template=template, tools=[{"a": 1}], documents=[{"text": "b"}], **GREEDY)
    as_text = generator.chat([], chat_template='[{"a": 1}]b0', **GREEDY)
    assert with_both.log_probability == as_text.log_probability


def test_special_tokens_in_messages_are_text_unless_trusted(generator):
    template = "{{ messages[0].content }}"
    messages = [{"role": "user", "content": "the</s>cat"}]
    text = generator.chat(messages, chat_template=template, **GREEDY)
    token = generator.chat(messages, chat_template=template, trust_messages=True, **GREEDY)
    assert text.log_probability != token.log_probability


def test_bad_conversations_are_refused(generator):
    with pytest.raises(ValueError, match="no chat template .*tokenizer.chat_template"):
        generator.chat(MESSAGES)
    with pytest.raises(ValueError, match="the chat template, line 1"):
        generator.chat(MESSAGES, chat_template="{{ messages[0].name.first }}")
    with pytest.raises(ValueError, match="refuses the conversation: no"):
        generator.chat(MESSAGES, chat_template="{{ raise_exception('no') }}")
    with pytest.raises(TypeError, match="must be a list of dicts, got str"):
        generator.chat("the cat", chat_template=TURNS)
    with pytest.raises(TypeError, match="is not JSON"):
        generator.chat([{"role": "user", "content": {1, 2}}], chat_template=TURNS)
    with pytest.raises(ValueError, match="beam"):
        generator.chat(MESSAGES, chat_template=TURNS, beam=2)


def test_proposed_tokens_and_known_turns_change_no_answer(generator):
    drafted = qkv.Generator(FOLDER / "llama-q4_0.gguf", draft=FOLDER / "llama-q4_0.gguf")
    messages = [{"role": "user", "content": "the cat the cat the"}]
    for _ in range(3):
        plain = qkv.Generator(FOLDER / "llama-q4_0.gguf").chat(messages, chat_template=TURNS, **GREEDY)
        looked_up = generator.chat(messages, chat_template=TURNS, lookup=4, **GREEDY)
        answer = drafted.chat(messages, chat_template=TURNS, draft_tokens=3, **GREEDY)
        for other in (looked_up, answer):
            assert (other.tokens, other.log_probability) == (plain.tokens, plain.log_probability)
            assert 0 <= other.accepted <= other.proposed
        assert plain.proposed == 0 < answer.accepted
        messages += [{"role": "assistant", "content": plain.text}, {"role": "user", "content": "and the cat"}]
    with pytest.raises(ValueError, match="vocabulary"):
        qkv.Generator(FOLDER / "llama-q4_0.gguf", draft=FOLDER / "gpt2-q4_0.gguf")
