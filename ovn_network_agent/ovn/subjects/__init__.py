# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From rows of OVN to the addresses, machines and networks of the model.

Pure.  They import ``ovn.queries`` and ``model``.
"""
