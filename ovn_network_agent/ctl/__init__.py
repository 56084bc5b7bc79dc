# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The program ovn-network-agent-ctl: one module for each command.

At the start it imports only the client's side of :mod:`control`.  A command
imports what takes longer, such as :mod:`diagnosis`, when it runs.
"""
