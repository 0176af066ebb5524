# SPDX-License-Identifier: BSD-3-Clause
"""Better forwarding tables as a variant: those of ``weft route fix``, for a machine that has tables of its own."""

import zlib
from collections.abc import Callable
from pathlib import Path

from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.files.atomic import file_errors
from weft.files.plain import UNLIMITED, read_plain
from weft.launch.route_library import route_library
from weft.route.given import write_tables
from weft.route.improve import improve
from weft.route.routes import Routes
from weft.route.subnet import require_addresses
from weft.trace.replay import Asked
from weft.whatif.variants import Variant, with_network

NAME = "tables"
WORDS = "better tables"


def better_tables(fabric: Fabric, asked: Asked, folder: Path, say: Callable[[str], None]) -> Variant | str:
    """The machine with better forwarding tables, or why there are none, in words.

    Raises WeftError: The dump or its tables cannot be read, or the file cannot be written.
    """
    section = fabric.network
    if section is None or section.dump is None or section.dump.tables is None:
        return f"{WORDS}: {fabric.name} has no forwarding tables (weft fabric import DUMP --tables FILE)"
    given = [fabric.path.parent / name for name in (section.dump.file, section.dump.tables)]
    file = (folder / f"{NAME}-{_mark(given)}.lfts").resolve()
    if not file.is_file():  # the search has a limit of time: a second one could find others, for which no run is there
        network = build_network(fabric)
        if not network.cables_known:
            return f"{WORDS}: {fabric.name} does not state by how many cables its switches are connected"
        say(f"{WORDS}: looking for them")
        try:
            require_addresses(network)
            found = improve(Routes(network, route_library()), say=say)
        except FabricError as error:  # the other lines do not need them
            return f"{WORDS}: {error.what}"
        if not found.better:
            return f"{WORDS}: none of {found.tried} tried is better, and worse on no score (weft route fix)"
        with file_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        write_tables(found.best.routes.network, file)
    dump = section.dump.model_copy(update={"tables": str(file)})
    return Variant(NAME, WORDS, with_network(fabric, NAME, dump=dump), asked)


def _mark(files: list[Path]) -> str:
    """A name for what the files have in them."""
    mark = 0
    for path in files:
        with file_errors(path):
            mark = zlib.crc32(read_plain(path, UNLIMITED), mark)
    return f"{mark:08x}"
