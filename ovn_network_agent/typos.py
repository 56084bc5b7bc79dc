# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The word that a typo probably means."""


def nearest(word, known):
    """The known word that is most like another word.

    :param word: str, as a person has typed it
    :param known: iterable of str
    :returns: str, or None when no known word is like it
    """
    # The import takes longer than a command of ovn-network-agent-ctl, and
    # only a typo needs it.
    import difflib
    return next(iter(difflib.get_close_matches(word, known, n=1)), None)


def hint(word, known):
    """The end of a message about an unknown word.

    :param word: str, as a person has typed it
    :param known: iterable of str
    :returns: ``'; did you mean WORD?'``, or '' when no known word is like it
    """
    close = nearest(word, known)
    return f'; did you mean {close}?' if close else ''
