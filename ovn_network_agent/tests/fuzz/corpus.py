# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The inputs in the repository: one file for each target.

A line is an input, a bytes literal of Python.  A line that begins with "#" is
a remark about the next input.  An input that was a bug is kept for ever.
"""

import ast
import os

DIRECTORY = os.path.join(os.path.dirname(__file__), 'corpus')


def path(name, directory=DIRECTORY):
    """Path of the file of a target."""
    return os.path.join(directory, name + '.txt')


def read(name, directory=DIRECTORY):
    """The inputs of a target.

    :param name: name of the target
    :returns: list of bytes, empty without a file
    :raises ValueError: for a line that is no bytes literal
    """
    try:
        with open(path(name, directory), encoding='ascii') as opened:
            return [_input(line) for line in opened
                    if line.strip() and not line.startswith('#')]
    except FileNotFoundError:
        return []


def _input(line):
    found = ast.literal_eval(line.strip())
    if not isinstance(found, bytes):
        raise ValueError(f'{line!r} is no bytes literal')
    return found
