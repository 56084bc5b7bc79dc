# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""This chassis and the others: groups, absence, tunnels, BFD.

They import the other packages of ``ovn``, but ``ovn.view``.
"""
