# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The local Open vSwitch database: wiring, wishes, relay ports.

This package may import :mod:`ovsdb` and values.
"""
