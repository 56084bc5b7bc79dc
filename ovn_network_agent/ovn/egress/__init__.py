# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Egress addresses: from their selections to machines, places and rows.

They import the other packages of ``ovn``, but ``ovn.view``.
"""
