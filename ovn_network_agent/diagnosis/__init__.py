# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The diagnoses explain and doctor; they import all but the commands.

They check what a packet and an announcement cross.
"""
