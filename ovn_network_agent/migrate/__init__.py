# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The program ovn-network-agent-migrate: settings of the original.

It imports no part of a running agent.
"""
