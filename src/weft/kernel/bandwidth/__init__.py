# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``bandwidth``: streams of messages between two ranks of each class."""
