# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The process: its instance, its signals, its supervisor, its end.

Its modules import the engine and ``conf``, and nothing of the loop.
"""
