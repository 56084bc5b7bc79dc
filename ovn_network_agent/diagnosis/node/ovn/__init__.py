# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the databases of OVN, and of what their rows ask of this node.

They import ``diagnosis.node.check`` and the readers.
"""
