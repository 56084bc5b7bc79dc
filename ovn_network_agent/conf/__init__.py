# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Options: declaration, checks, reload.

It imports modules of the root alone.
"""
