# SPDX-License-Identifier: BSD-3-Clause
"""Fabric kind ``virtual``: a cluster of namespaces on this machine, without root, for real MPI over limited links.

======================  ============================================================================================
``spec``                hosts, switches, links: what a cluster is made of
``fabric_spec``         a spec from a fabric file: each switch a router, or any tree folded into one without loops
``wiring``              a spec as commands for ``ip`` and ``tc``
``permission``          may this user make namespaces, and how
``holder``, ``cluster`` the process that holds the namespaces; bringing it up, finding it, entering it, ending it
``starters``            Open MPI and MPICH over the launch agent (``agent.sh``), kept on the links
``counters``            bytes, packets and drops of every link; ``capture`` adds ``tcpdump``
``launcher``            all of it as a launcher for ``weft run``
======================  ============================================================================================
"""
