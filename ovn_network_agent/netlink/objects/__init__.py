# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The objects of the kernel as messages of netlink, both ways.

They import the sockets and texts of ``netlink``, and pyroute2.
"""
