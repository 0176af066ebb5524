# SPDX-License-Identifier: BSD-3-Clause
"""Simulated ranks: the same kernels under SimGrid's SMPI, on a machine that is only described."""
