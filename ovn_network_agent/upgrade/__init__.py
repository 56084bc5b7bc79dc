# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The program ovn-network-agent-status: ready for an upgrade?

It may import :mod:`diagnosis`, whose checks it makes.
"""
