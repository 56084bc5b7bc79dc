# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Entry points for nftables and connection tracking.

They import ``nft``, ``netlink`` and the limits.
"""
