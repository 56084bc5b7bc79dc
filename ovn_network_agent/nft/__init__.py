# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""nftables: the input of nft, and the meaning of its listings.

Pure: it imports values alone.  Both sides of the wall use this package.  The
values of a table cross the wall packed by :mod:`nft.codec`.  The privileged
side (:mod:`ovn_network_agent.privileged.nft.nft`) checks the values, and
renders the input of nft from them.  The backend reads the answers of nft.
"""
