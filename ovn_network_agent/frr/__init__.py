# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""FRR's text: configuration lines, and the output of its daemons.

It imports values alone, and starts no thread or program, for the privileged
daemons.
"""
