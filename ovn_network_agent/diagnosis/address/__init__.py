# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Explains one address; imports the readers, the drivers and pure modules.

:mod:`subject` says what an address is, :mod:`gathering` reads what exists, and
the judges, which are pure, compare.
"""
