# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the privileged side permits.  Pure.

They import ``ownership``, ``model`` and ``resources``, and no entry point.
"""
