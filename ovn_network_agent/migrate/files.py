# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Writing new files: none before all are complete, and none over another."""

import contextlib
import os
import pathlib
import tempfile


class Refused(Exception):
    """A file cannot be written; the text has path and remedy."""


def write(contents, force):
    """Write files, readable for the agent's user.

    All texts stand in their folders under other names before the first file
    gets its name.  So a full disk or a closed folder leaves no file.

    :param contents: dict of path to str
    :param force: whether files that are there are replaced
    :raises Refused: when one is there, or cannot be written; the text names
        the files that are written by then
    """
    for path in contents:
        if os.path.lexists(path) and not force:
            raise Refused(f'{path} is there already; look at it, and add '
                          '--force to replace it')
    with contextlib.ExitStack() as stack:
        staged = {path: _stage(path, text, stack)
                  for path, text in contents.items()}
        _rename(staged)


def _stage(path, text, stack):
    """Write a text beside its path.

    :param stack: contextlib.ExitStack, removes the file in the end
    :returns: path of the new file
    """
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder)
        stack.callback(pathlib.Path(temporary).unlink, missing_ok=True)
        with open(descriptor, 'w', encoding='utf-8') as opened:
            opened.write(text)
            os.fchmod(opened.fileno(), 0o644)
    except OSError as error:
        raise _refused(path, error) from error
    return temporary


def _rename(staged):
    """Give files their names.

    :param staged: dict of path to the path of its text
    """
    done = []
    for path, temporary in staged.items():
        try:
            os.replace(temporary, path)
        except OSError as error:
            raise _refused(path, error, done) from error
        done.append(path)


def _refused(path, error, done=()):
    written = f'; written by then: {", ".join(done)}' if done else ''
    return Refused(f'{path}: {error.strerror or error}; name a place in '
                   '--output or --rules-file that you may write '
                   f'to{written}')
