# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The pass: desired state, actual state, and the work between them.

Nothing here knows what a floating IP is.
"""
