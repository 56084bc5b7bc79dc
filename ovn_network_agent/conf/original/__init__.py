# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The options, variables and values of the original program.

They import only ``conf``.
"""
