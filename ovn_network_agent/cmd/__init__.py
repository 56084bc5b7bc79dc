# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The programs: agent, control client, migration, upgrade check.

They put the other packages together, and no package imports them.
"""
