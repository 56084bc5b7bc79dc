# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent's life: start, the loop, status, the end.

It may import everything but :mod:`control` and :mod:`metrics`, which report
about it, and the programs.
"""
