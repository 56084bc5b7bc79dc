# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the agent: its configuration, its processes, its objects.

They import ``diagnosis.node.check`` and the readers.
"""
