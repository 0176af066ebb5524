# SPDX-License-Identifier: BSD-3-Clause
"""Fabric kind ``virtual``: a cluster of namespaces on this machine, without root, for real MPI over limited links."""
