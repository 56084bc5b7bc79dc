# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Observers beside the loop; they wake it and change nothing."""
