# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Watches of FRR: its lists, routes, VNIs and restarts.

They import ``privileged`` and ``frr``.
"""
