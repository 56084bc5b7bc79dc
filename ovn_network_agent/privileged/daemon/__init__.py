# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The daemons; they import only privsep, ``conf`` and ``common``."""
