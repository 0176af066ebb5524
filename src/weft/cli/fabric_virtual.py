# SPDX-License-Identifier: BSD-3-Clause
"""``weft fabric up``, ``down`` and ``exec``: a virtual cluster for interactive use."""

import os
import sys
from typing import Annotated

from cyclopts import Parameter

from weft.errors import LaunchError


def up(file: str = "virtual-default", /) -> None:
    """Bring a virtual fabric up; it stays until ``weft fabric down``.

    ``weft run`` does not need this: it brings up its own. Use it to look around, and to try programs.

    Parameters
    ----------
    file
        A fabric file of kind virtual, or the name of one that ships with Weft.

    Raises
    ------
    LaunchError
        A fabric of that name is up already, or it cannot be brought up.
    """
    from weft.fabric import load_fabric
    from weft.launch.virtual.cluster import Cluster, usage
    from weft.launch.virtual.fabric_spec import spec_of
    from weft.launch.virtual.spec import too_fast

    spec = spec_of(load_fabric(file))
    if any(cluster.spec.name == spec.name for cluster in Cluster.standing()):
        raise LaunchError(f"{spec.name} is up already", f"weft fabric down {spec.name}")
    if warning := too_fast(spec, len(os.sched_getaffinity(0))):
        print(f"warning: {warning}", file=sys.stderr)
    Cluster.start(spec, standing=True)
    print(usage(spec, file))


def down(name: str = "", /, *, everything: Annotated[bool, Parameter(name="--all")] = False) -> None:
    """Take a virtual fabric down, with all processes on it.

    Parameters
    ----------
    name
        Name of the fabric; may be left out if only one is up.
    everything
        Take down all of your virtual fabrics.
    """
    from weft.launch.virtual.cluster import Cluster

    for cluster in Cluster.standing() if everything else [Cluster.find(name)]:
        cluster.close()
        print(f"{cluster.spec.name} is down")


def execute(
    node: str,
    /,
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    fabric: Annotated[str, Parameter(name="--fabric")] = "",
) -> int:
    """Run a command on a host of a fabric that is up; a shell by default.

    Parameters
    ----------
    node
        Name of the host, e.g. node0.
    command
        The command and its arguments.
    fabric
        Name of the fabric; may be left out if only one is up. Goes before the node.
    """
    from weft.launch.virtual.cluster import Cluster
    from weft.launch.virtual.starters import anywhere

    words = Cluster.find(fabric).command(node, command or (os.environ.get("SHELL", "sh"),))
    sys.stdout.flush()
    # the command's own exit code and signals, without Weft in between
    os.execvpe(words[0], words, {**os.environ, **anywhere()})
