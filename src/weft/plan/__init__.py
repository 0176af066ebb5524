# SPDX-License-Identifier: BSD-3-Clause
"""A study worked out on a fabric: its cells and launches, and the flat plan that the kernels read."""
