# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Prints pip constraints with the lowest versions of requirements.txt.

    python3 tools/lowest.py requirements.txt tools/constraints/2025.2.txt

The second file has the versions of the packages that requirements.txt does not
name.
"""

from collections import abc
import re
import sys

_BOUND = re.compile(
    r'(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?>=(?P<version>[0-9.]+)')
_PIN = re.compile(r'(?P<name>[A-Za-z0-9._-]+)===')


def bounds(lines: abc.Iterable[str]) -> dict[str, str]:
    """Lower bounds of a requirements file.

    :raises ValueError: for a requirement without a lower bound
    """
    found = {}
    for line in lines:
        line = line.partition('#')[0].strip()
        if not line:
            continue
        match = _BOUND.match(line)
        if match is None:
            raise ValueError(f'{line!r} has no lower bound; write '
                             'NAME>=VERSION')
        found[canonical(match['name'])] = match['version']
    return found


def canonical(name):
    """The normal spelling of a package's name: "Oslo_Log" is "oslo-log"."""
    return re.sub('[-_.]+', '-', name).lower()


def constraints(requirements, others) -> list[str]:
    """The lines of the constraints file."""
    lowest = bounds(requirements)
    lines = [f'{name}=={version}' for name, version in lowest.items()]
    for line in others:
        match = _PIN.match(line)
        if match and canonical(match['name']) not in lowest:
            lines.append(line.strip())
    return lines


def main(requirements, others):
    """Print the constraints of two files."""
    with (open(requirements, encoding='utf-8') as first,
            open(others, encoding='utf-8') as second):
        print('\n'.join(constraints(first, second)))


if __name__ == '__main__':
    main(*sys.argv[1:])
