# SPDX-License-Identifier: BSD-3-Clause
"""hwloc's XML: sockets, cores and processing units of a node."""

from pathlib import Path

import pytest

from weft.errors import FabricError
from weft.fabric.importing import read_hwloc
from weft.fabric.readers import Lines

DATA = Path(__file__).parents[3] / "data" / "networks"


def test_two_sockets_of_four_cores_with_two_threads() -> None:
    cores, memory = read_hwloc(Lines.read(DATA / "two-sockets.xml"))
    assert [len(socket) for socket in cores] == [4, 4]
    assert cores[0][0] == (0, 1)
    assert memory == 2**30


def test_hwloc_1_called_a_package_a_socket() -> None:
    text = '<topology><object type="Machine" local_memory="1024"><object type="Socket"><object type="Core">'
    text += '<object type="PU" os_index="3"/></object></object></object></topology>'
    assert read_hwloc(Lines.of("old", text)) == ((((3,),),), 1024)


def test_a_machine_without_cores_counts_its_processing_units() -> None:
    units = '<object type="PU" os_index="0"/><object type="PU" os_index="1"/>'
    text = f'<topology><object type="Machine">{units}</object></topology>'
    assert [len(socket) for socket in read_hwloc(Lines.of("vm", text))[0]] == [2]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<topology>\n<object", "xml:2: no XML"),
        ("<html/>", "no hwloc topology"),
        ('<!DOCTYPE t [\n<!ENTITY a "b">]><topology/>', "xml:2: an entity declaration"),
        ('<topology><object type="Machine"/></topology>', "without cores"),
        (
            '<topology><object type="Machine"><object type="PU" os_index="-1"/></object></topology>',
            "os_index = '-1' of a PU is not a number",
        ),
    ],
)
def test_what_is_no_topology_is_refused_with_its_line(text: str, what: str) -> None:
    with pytest.raises(FabricError, match=what):
        read_hwloc(Lines.of("xml", text))
