# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends of the kernel: devices, addresses, neighbours, routes, rules, sysctls.

They write through ``privileged`` and read with ``netlink``.
"""
