# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Port forwarding: rules file, health checks, present addresses."""
