# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Small helpers of all packages.

They import only each other, and some of them ``model``.
"""
