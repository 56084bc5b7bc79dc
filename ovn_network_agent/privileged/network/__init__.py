# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Entry points for the kernel: routes, rules, addresses, devices.

They import ``netlink`` and the limits.
"""
