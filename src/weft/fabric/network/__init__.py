# SPDX-License-Identifier: BSD-3-Clause
"""Networks: the graph, its generators, and the sections of a fabric file that describe them."""
