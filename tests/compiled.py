# SPDX-License-Identifier: BSD-3-Clause
"""What tests compile is compiled once for each MPI, wherever it is built: by ccache, if it is here.

The native tests build what a run builds, with the same flags, in folders of their own.
"""

import shutil
from pathlib import Path

FAULTS = {"CXXFLAGS": "-DWEFT_FAULTS"}
"""Environment in which Weft builds kernels that plant the fault named by WEFT_PLANT; those of users cannot."""
ROOT = Path(__file__).resolve().parents[1]


def shared(folder: Path) -> dict[str, str]:
    """Environment in which CMake builds below `folder` share their objects with those of all other folders."""
    ccache = shutil.which("ccache")
    if ccache is None:
        return {}
    return {
        "CMAKE_CXX_COMPILER_LAUNCHER": ccache,
        "CCACHE_DIR": str(ROOT / "build/ccache"),
        # paths below it are taken as relative to where the compiler runs: CMake's unity files lie there, sources do not
        "CCACHE_BASEDIR": str(folder),
        "CCACHE_NOHASHDIR": "1",
    }
