# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Entry points for the kernel; they import ``netlink`` and the limits."""
