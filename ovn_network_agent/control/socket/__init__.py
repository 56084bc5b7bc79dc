# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The control socket: listener, protocol, server and client.

The client runs in the commands, so it imports only the protocol.
"""
