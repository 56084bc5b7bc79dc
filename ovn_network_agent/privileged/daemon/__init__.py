# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The privileged daemons: their start, their sockets, their memory.

They import only privsep, ``conf`` and ``common``.
"""
