# SPDX-License-Identifier: BSD-3-Clause
"""What a site's scheduler says of its machine, read from the output of its commands; nothing here starts a process."""
