# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Entry points for Open vSwitch; they import ``openflow`` and the limits."""
