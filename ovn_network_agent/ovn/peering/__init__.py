# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers that peer; imports the rest of ``ovn``, but ``ovn.view``."""
