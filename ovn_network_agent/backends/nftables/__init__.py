# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends of nftables: port forwarding and egress addresses.

They write through ``privileged`` and read with ``nft``.
"""
