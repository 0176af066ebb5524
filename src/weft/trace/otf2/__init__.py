# SPDX-License-Identifier: BSD-3-Clause
"""Traces in OTF2, the format of Score-P, Vampir and Scalasca, by the format's own library."""
