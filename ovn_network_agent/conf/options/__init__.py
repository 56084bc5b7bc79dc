# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The declarations of all options, a module for each section.

They import only oslo.config and ``conf.types``.
"""
