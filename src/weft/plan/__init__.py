# SPDX-License-Identifier: BSD-3-Clause
"""The plan of a study on a fabric: its cells and launches, and the flat plan that the kernels read."""
