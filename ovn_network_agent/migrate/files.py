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

"""Writing new files, all of them or none, and none over another."""

import os
import tempfile


class Refused(Exception):
    """A file cannot be written; the text has path and remedy."""


def write(contents, force):
    """Write files.

    :param contents: dict of path to str
    :param force: whether files that are there are replaced
    :raises Refused: when one is there, or cannot be written
    """
    for path in contents:
        if os.path.lexists(path) and not force:
            raise Refused(f'{path} is there already; look at it, and add '
                          '--force to replace it')
    for path, text in contents.items():
        try:
            _write(path, text)
        except OSError as error:
            raise Refused(f'{path}: {error.strerror or error}; name a '
                          'directory in --output that you may write '
                          'to') from error


def _write(path, text):
    """Write a whole file or nothing, readable for the agent's user."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=folder)
    try:
        with open(descriptor, 'w', encoding='utf-8') as opened:
            opened.write(text)
            os.fchmod(opened.fileno(), 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
