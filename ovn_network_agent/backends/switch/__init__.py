# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends of Open vSwitch: flows of the provider bridges, and ports.

They write through ``privileged`` and ``ovs``.
"""
