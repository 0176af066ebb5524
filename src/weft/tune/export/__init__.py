# SPDX-License-Identifier: BSD-3-Clause
"""A selection table as a rule file of an MPI library, for those who do not preload ``libweft.so``."""
