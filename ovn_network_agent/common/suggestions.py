# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The word that a typo probably means."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like another word, as typed by a person."""
    # It takes longer than a command of ovn-network-agent-ctl, and only a typo
    # needs it.
    import difflib
    return next(iter(difflib.get_close_matches(word, known, n=1)), None)


def hint(word: str, known: Iterable[str]) -> str:
    """``'; did you mean WORD?'``, or '' when no known word is like it."""
    close = nearest(word, known)
    return f'; did you mean {close}?' if close else ''
