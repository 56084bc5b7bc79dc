# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of FRR: its daemons, sessions, announcements, EVPN."""
