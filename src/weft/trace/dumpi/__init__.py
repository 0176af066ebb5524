# SPDX-License-Identifier: BSD-3-Clause
"""Traces of SST's DUMPI, as its dumpi2ascii writes them: a text a rank."""
