# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The rows that the agent writes into OVN NB, and their commands.

They import ``ovsdb`` and ``model``.
"""
