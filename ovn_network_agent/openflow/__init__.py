# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""OpenFlow: messages, flows, and a connection to a switch.

The agent and its daemons use it; it starts no thread or program, and imports
values alone.
"""
