# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
