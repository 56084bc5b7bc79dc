# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Observers beside the loop: kernel, nftables, FRR, restarts.

An observer changes nothing: it wakes the loop and reports problems.
"""
