# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Levels of the log, and the lines that reports and metrics need.

They import only oslo.log and ``conf``.
"""
