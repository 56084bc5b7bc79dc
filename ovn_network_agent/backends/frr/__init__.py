# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends of FRR: static routes, prefix lists, EVPN, router advertisements.

They write through ``privileged`` and read with ``frr``.
"""
