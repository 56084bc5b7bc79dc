# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The answers of the control socket, made of the state of the agent.

They import what the agent has, and nothing of ``control.socket``.
"""
