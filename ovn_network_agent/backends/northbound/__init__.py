# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends of the OVN Northbound database: the rows that the agent writes.

They write with ``ovn.writes`` through ``ovsdb``.
"""
