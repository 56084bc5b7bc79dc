# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Entry points for FRR, by vtysh or the sockets of its daemons.

They import ``frr`` and the limits.
"""
