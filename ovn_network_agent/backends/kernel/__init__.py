# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends of the kernel: write through ``privileged``, read with ``netlink``.
"""
