# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``completion``."""

import sys
from typing import Literal


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print the script that completes verbs and options: eval "$(weft completion bash)" in ~/.bashrc.

    Parameters
    ----------
    shell
        bash, zsh or fish.
    """
    from weft.cli.app import app

    sys.stdout.write(app.generate_completion(shell=shell, prog_name="weft") + "\n")
