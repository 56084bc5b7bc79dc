# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers that peer: intents, states, prefixes and rows.

They import the other packages of ``ovn``, but ``ovn.view``.
"""
