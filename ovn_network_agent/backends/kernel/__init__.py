# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends of the kernel.

They are for devices, addresses, neighbours, routes, rules and sysctls.  They
write through ``privileged`` and read with ``netlink``.
"""
