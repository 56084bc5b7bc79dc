# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the node as a whole: one module for each subject."""
