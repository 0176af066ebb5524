# SPDX-License-Identifier: BSD-3-Clause
"""Traces: taking one of an application, bringing it into its folder, exporting it."""
