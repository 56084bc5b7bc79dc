# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Prints the commands of "tox -e pep8", one on each line.

tools/test runs these commands in its own environment.  A test compares the
hooks of .pre-commit-config.yaml with them.
"""

import configparser
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
_POSITIONAL = re.compile(r'\{posargs:([^}]*)\}')


def commands(text) -> list[str]:
    """The commands of [testenv:pep8], with the defaults of their arguments."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    lines = parser['testenv:pep8']['commands']
    return [' '.join(_POSITIONAL.sub(r'\1', line).split())
            for line in lines.splitlines() if line.strip()]


if __name__ == '__main__':
    print('\n'.join(commands((ROOT / 'tox.ini').read_text())))
