# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Explains one address; imports the readers, the drivers and pure modules.

:mod:`subject` says what an address is and what has to exist for it,
:mod:`gathering` reads what exists, and the judges compare.  The judges are
pure: the same values give the same findings.
"""
