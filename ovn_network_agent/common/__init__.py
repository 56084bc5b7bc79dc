# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Small helpers of all packages."""
