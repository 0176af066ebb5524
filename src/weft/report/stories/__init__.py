# SPDX-License-Identifier: BSD-3-Clause
"""The stories of the kernels, one file each."""
