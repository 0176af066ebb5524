# SPDX-License-Identifier: BSD-3-Clause
"""Launches inside jobs of a batch scheduler: one readable script for many launches, one adapter per scheduler."""
