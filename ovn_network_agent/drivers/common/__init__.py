# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What drivers share, and the parts of large drivers.  Pure."""
