# SPDX-License-Identifier: BSD-3-Clause
"""Files that users write and Weft reads: TOML, expressions, shipped files, schemas; and writing that is atomic."""
