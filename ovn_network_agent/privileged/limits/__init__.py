# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What is permitted: pure, from ``ownership``, ``model``, ``resources``."""
