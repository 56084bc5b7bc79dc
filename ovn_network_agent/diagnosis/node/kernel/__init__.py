# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the kernel: devices, routing, rules, neighbours, filters.

They import ``diagnosis.node.check`` and the readers.
"""
