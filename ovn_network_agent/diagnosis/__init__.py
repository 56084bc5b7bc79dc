# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of what a packet and an announcement cross."""
