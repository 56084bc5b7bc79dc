# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The backends: each reads and changes the resources of one system.

They may import all below them in the order of tools/packages.py.  A backend is
a plugin; :mod:`backends.base` has its interface.
"""
