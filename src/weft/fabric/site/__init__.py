# SPDX-License-Identifier: BSD-3-Clause
"""What a site's scheduler says of its machine, read from the output of its commands; nothing here starts a process."""

from weft.fabric.site.found import Adapter, NodeClass, Queue, Site
from weft.fabric.site.writing import fabric_text

__all__ = ["Adapter", "NodeClass", "Queue", "Site", "fabric_text"]
