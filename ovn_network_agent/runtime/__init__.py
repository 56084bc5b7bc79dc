# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent's life: start, the loop, status, the end.

Only :mod:`control`, :mod:`metrics` and the programs may import it.
"""
