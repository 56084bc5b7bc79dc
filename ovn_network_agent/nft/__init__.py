# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""nftables: the input of nft, and the meaning of its listings.

Pure, for both sides of the wall: it imports values alone. :mod:`nft.values`
packs a table, and the privileged side
(:mod:`ovn_network_agent.privileged.nft`) checks and renders it.
"""
