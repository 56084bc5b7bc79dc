# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""FRR's text: configuration lines and the output of its daemons.

The agent and its privileged daemons use this package, which starts no thread
and no program, and imports modules of the root alone.
"""
