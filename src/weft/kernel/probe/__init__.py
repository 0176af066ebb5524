# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``probe``: messages from which LogGP's numbers of a fabric are found."""
