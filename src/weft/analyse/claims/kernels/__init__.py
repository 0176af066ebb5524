# SPDX-License-Identifier: BSD-3-Clause
"""The answer of a kernel: ``find_claims`` of the module with its name."""
