# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Watches of FRR; they import ``privileged`` and ``frr``."""
