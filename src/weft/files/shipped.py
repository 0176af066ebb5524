# SPDX-License-Identifier: BSD-3-Clause
"""Files that ship with Weft, and the folder of its cache."""

import gzip
import os
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

LENT: dict[str, Callable[..., Any]] = {}
"""Native functions by name, which the command lends to rooms below the one that builds them; empty without it."""
VEGALITE = "6.4"  # version in the script, which draws files, too


def shipped(folder: str) -> Path:
    """Path of the shipped folder ``native``, ``studies`` or ``fabrics``: in ``weft/data``, or a checkout's root."""
    installed = Path(str(files("weft"))) / "data" / folder
    return installed if installed.is_dir() else Path(__file__).resolve().parents[3] / folder


@lru_cache(maxsize=1)
def vega_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script without imports, whose only global name is ``vegaEmbed``."""
    return gzip.decompress((files("weft.files") / "vega.js.gz").read_bytes()).decode()


def cache() -> Path:
    """Folder of Weft's cache: ``$XDG_CACHE_HOME/weft`` or ``~/.cache/weft``."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    # the XDG specification says to ignore a relative path
    base = Path(given) if given.startswith("/") else Path.home() / ".cache"
    return base / "weft"
