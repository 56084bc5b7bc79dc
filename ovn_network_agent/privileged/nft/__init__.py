# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Entry points for nftables; they import ``nft``, ``netlink``, the limits."""
