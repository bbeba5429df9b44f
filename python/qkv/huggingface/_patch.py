"""Replaces the attention modules of families that do not call the attention interface of transformers.

A family is a file here. It declares subclasses of the family's modules; a module is replaced by giving it the
subclass: its weights, hooks and names in the state stay as they are.
"""

import importlib
import sys

from ._interface import register

# By the file of the family in transformers: the file here.
_files = {
    "transformers.models.big_bird.modeling_big_bird": "_big_bird",
    "transformers.models.bloom.modeling_bloom": "_bloom",
    "transformers.models.falcon.modeling_falcon": "_falcon",
    "transformers.models.longformer.modeling_longformer": "_longformer",
}


def patch(model):
    """The model with the attention modules of Falcon, BLOOM, Longformer or BigBird replaced; also in place.

    Results, gradients and the state are those of the model before. Attention weights are computed only on request
    (output_attentions). ValueError for a model of another family.
    """
    replaced = [_replace(module) for module in model.modules()]
    if not any(replaced):
        raise ValueError(
            f"{model.config.model_type}: patch() knows the attention of big_bird, bloom, falcon and longformer; "
            'other models take attn_implementation="qkv" after register(), see check()'
        )
    register()
    if model.config.model_type != "longformer":  # which makes its own masks of a table of transformers
        model.config._attn_implementation = "qkv"  # masks come as None or as padding (B, S) then
    return model


def _replace(module):
    file = _files.get(type(module).__module__)
    if file is None:
        return False
    replacement = importlib.import_module(f".{file}", __package__).replacements.get(type(module))
    if replacement is not None:
        module.__class__ = replacement
    return replacement is not None


def check(model):
    """ValueError for a model whose own attention ignores the name, or misreads the mask (BLOOM)."""
    for layer in model.modules():
        kind = type(layer)
        of_a_family = kind.__module__.startswith(("transformers.models.", "transformers_modules."))
        if (
            of_a_family
            and "Attention" in kind.__name__
            and not hasattr(sys.modules[kind.__module__], "ALL_ATTENTION_FUNCTIONS")
        ):
            advice = "; qkv.huggingface.patch(model) does" if kind.__module__ in _files else ""
            raise ValueError(
                f"{model.config.model_type}: the model has an attention of its own, {kind.__name__}, which "
                f"attn_implementation does not replace{advice}"
            )
