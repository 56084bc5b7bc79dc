# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""OpenFlow: messages, flows, and a connection to a switch.

The agent and its privileged daemons use this package, which imports values
alone, and starts no thread and no program.
"""
