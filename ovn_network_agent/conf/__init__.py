# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Options and reload; it imports modules of the root alone."""
