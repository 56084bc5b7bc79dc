# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The program ovn-network-agent-ctl: one module for each command."""
