# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent's life: start, the loop, status, the end.

It imports no :mod:`control` and :mod:`metrics`, which report about it, and no
program.
"""
