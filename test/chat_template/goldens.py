"""Writes goldens.json: what jinja2 makes of the templates here, in the environment of transformers (environment.py).

    TZ=UTC python3 test/chat_template/goldens.py            # with jinja2 3.1.6

`make test` compares ChatTemplate with it (qkv/text/chat_template/golden_test.cc). A case whose text is null is one that
jinja2 refuses."""

import json
from pathlib import Path

from environment import render
from expressions import EXPRESSIONS, TEMPLATES, VARIABLES
from families import CONVERSATIONS, FAMILIES

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def main():
    families = [
        {"name": name, "template": template, "texts": [render(template, {**TOKENS, **c}).get("text") for c in CONVERSATIONS]}
        for name, template in FAMILIES.items()
    ]
    templates = ["{{ " + expression + " }}" for expression in EXPRESSIONS] + TEMPLATES
    goldens = {
        "conversations": [{**TOKENS, **c} for c in CONVERSATIONS],
        "families": families,
        "variables": VARIABLES,
        "templates": [[template, render(template, VARIABLES).get("text")] for template in templates],
    }
    path = Path(__file__).with_name("goldens.json")
    path.write_text(json.dumps(goldens, indent=1) + "\n")
    refused = sum(text is None for _, text in goldens["templates"]) + sum(f["texts"].count(None) for f in families)
    print(f"{path}: {len(families)} families with {len(CONVERSATIONS)} conversations, {len(templates)} templates; {refused} refused")


main()
