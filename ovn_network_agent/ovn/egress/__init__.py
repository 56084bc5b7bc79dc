# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Egress addresses; imports the rest of ``ovn``, but ``ovn.view``."""
