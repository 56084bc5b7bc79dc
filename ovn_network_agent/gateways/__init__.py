# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Gateways that come and leave: drain, handover, overlap.

Pure; the only memory is the state of each group, and the begin of each
condition.
"""
