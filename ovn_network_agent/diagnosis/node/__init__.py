# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the node as a whole; imports the readers and all of the agent.

Each module has one subject, and its checks in CHECKS; :mod:`check` says what
a check is, and :mod:`examination` has all of them.
"""
