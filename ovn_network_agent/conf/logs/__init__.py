# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Levels and kept lines of the log; imports only oslo.log and ``conf``."""
