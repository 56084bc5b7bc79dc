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


"""Text of others without the characters that a terminal or a log obeys.

Whoever may rename a router in Neutron, or set the host name of a chassis,
writes text that operators read.  A line feed would begin a line of its own in
a log.  An escape sequence would change the screen, and a change of the
direction of writing would show other words than there are.
"""


def line(text: str) -> str:
    """A text in one line, with escapes in the place of such characters."""
    return text if text.isprintable() else ''.join(map(_escaped, text))


def lines(text: str) -> str:
    """A text of several lines, of which all but the first are indented."""
    return text if text.isprintable() else ''.join(
        '\n  ' if character == '\n' else _escaped(character)
        for character in text)


def _escaped(character: str) -> str:
    return (character if character.isprintable()
            else character.encode('unicode_escape').decode())
