# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""HTTP: metrics for Prometheus, readiness, and the health probe.

It imports whatever has something to measure; only the service imports it.
"""
