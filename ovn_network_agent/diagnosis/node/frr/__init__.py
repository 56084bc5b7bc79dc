# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of FRR: sessions, filters, redistribution, EVPN.

They import ``diagnosis.node.check`` and the readers.
"""
