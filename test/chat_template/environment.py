"""The environment in which Hugging Face transformers renders chat templates, made of jinja2 alone."""

import datetime
import json

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = 1700000000  # what strftime_now() shows: 14 November 2023, in UTC


class Generation(Extension):
    """{% generation %}: marks what the assistant wrote, and changes no text."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_text"), [], [], body).set_lineno(line)

    def _text(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(form):
    return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime(form)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    env.filters["tojson"] = to_json
    env.globals.update(raise_exception=raise_exception, strftime_now=strftime_now)
    return env


ENVIRONMENT = environment()
MISSING = {"messages": [], "tools": None, "documents": None, "add_generation_prompt": True}


def render(template, variables):
    """{"text": ...}, or {"error": ...} where jinja2 refuses."""
    try:
        return {"text": ENVIRONMENT.from_string(template).render(**{**MISSING, **variables})}
    except Exception as error:  # of whatever type: the template is what is tested
        return {"error": f"{type(error).__name__}: {error}"}
