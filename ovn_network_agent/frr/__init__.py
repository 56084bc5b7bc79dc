# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""FRR's text: configuration lines and the output of its daemons.  The agent
and its daemons use it; it starts no thread or program, and imports the root
alone.
"""
