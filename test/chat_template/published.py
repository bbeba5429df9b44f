"""The chat templates of a folder, rendered by transformers and by build/test/render_chat_template: the differences.

    pip install transformers jinja2
    python3 test/chat_template/published.py FOLDER build/test/render_chat_template

The folder has files *.jinja, such as models/templates/ of llama.cpp. Without transformers, environment.py stands for it."""

import datetime
import json
import subprocess
import sys
from pathlib import Path

from environment import MISSING, NOW
from environment import render as render_by_jinja
from families import CALL, CONVERSATIONS, TOOLS

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
HI = {"role": "user", "content": "Hi"}
HELLO = {"role": "assistant", "content": "Hello."}
THOUGHT = {"role": "assistant", "reasoning_content": "hm", "content": "Hello."}
AGAIN = {"role": "user", "content": "again"}
MORE = [
    {"messages": [HI, HELLO, AGAIN]},
    {"messages": [{"role": "system", "content": "Be brief."}, HI, HELLO, AGAIN, HELLO], "add_generation_prompt": False},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], "enable_thinking": False},
    {"messages": [HI], "tools": TOOLS},
    {"messages": [HI], "documents": [{"title": "a", "text": "b"}]},
    {"messages": [HI, THOUGHT, AGAIN], "enable_thinking": True},
    {
        "messages": [
            HI,
            {"role": "assistant", "content": "", "tool_calls": [{**CALL["tool_calls"][0], "type": "function", "id": "abcdefghi"}]},
            {"role": "tool", "tool_call_id": "abcdefghi", "name": "weather", "content": "20"},
            AGAIN,
        ],
        "tools": TOOLS,
    },
]


def renderer():
    """Of transformers, if it is installed, on the day that environment.py has."""
    try:
        import transformers.utils.chat_template_utils as theirs
    except ImportError:
        return render_by_jinja, "jinja2"

    class Then(datetime.datetime):
        @classmethod
        def now(cls, zone=None):
            return cls.fromtimestamp(NOW, datetime.timezone.utc)

    theirs.datetime = Then

    def render(template, variables):
        given = {**MISSING, **variables}
        messages = given.pop("messages")
        try:
            return {"text": theirs.render_jinja_template(conversations=[messages], chat_template=template, **given)[0][0]}
        except Exception as error:  # of whatever type: the template is what is tested
            return {"error": f"{type(error).__name__}: {error}"}

    return render, "transformers"


def main():
    folder, program = Path(sys.argv[1]), sys.argv[2]
    files = sorted(folder.rglob("*.jinja"))
    cases = [(file, i, {**MISSING, **TOKENS, **c}) for file in files for i, c in enumerate(CONVERSATIONS + MORE)]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    lines = "".join(json.dumps({"template": texts[file], "variables": variables}) + "\n" for file, _, variables in cases)
    answers = subprocess.run([program], input=lines, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout.split("\n")
    render, name = renderer()
    equal = refused = 0
    for (file, i, variables), answer in zip(cases, answers):
        expected, found = render(texts[file], variables), json.loads(answer)
        if "error" in expected and "error" in found:
            refused += 1
        elif expected.get("text") == found.get("text") and "text" in expected:
            equal += 1
        else:
            print(f"{file.name}, conversation {i}\n  {name} {expected}\n  here {found}"[:2000])
    differ = len(cases) - equal - refused
    print(f"{len(files)} templates, {len(cases)} conversations: {equal} with the text of {name}, {refused} refused by both, {differ} differ")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
