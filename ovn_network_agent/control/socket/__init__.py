# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The control socket; its client, for commands, imports only the protocol."""
