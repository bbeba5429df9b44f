"""The folder of a model that a caller names, and how its weights are held."""

from __future__ import annotations

import errno
import os
from typing import Literal

CacheFormat = Literal["f32", "bf16", "int8"]


def model_folder(model: str | os.PathLike[str]) -> str:
    """Its path. The error for a name of the Hugging Face Hub says how to download it."""
    folder = os.fspath(model)
    if not os.path.lexists(folder) and os.sep not in folder:
        download = f"hf download {folder} --local-dir {folder}"
        cure = f"no such model folder; a model of the Hugging Face Hub is downloaded first: {download}"
        raise FileNotFoundError(errno.ENOENT, cure, folder)
    return folder
