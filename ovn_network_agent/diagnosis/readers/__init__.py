# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Readers of one system each, which import no judge.

They only look, and return frozen values for the judges.  A reader writes
nothing, has a time limit, and raises :class:`Unread` with the reason when the
system cannot be read, so docstrings name other errors only.  A ``timeout`` is
in seconds.
"""


class Unread(Exception):
    """A system could not be read; the text has the reason."""
