# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Diagnoses: explain and doctor; they import all but ctl and cmd.

They check what a packet and an announcement cross.
"""
