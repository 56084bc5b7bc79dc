# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the kernel: devices, routes, rules, and who else changes them."""
