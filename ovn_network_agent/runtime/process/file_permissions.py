# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whether the user of the agent can read the program.

The start has CAP_DAC_OVERRIDE, which the agent and its daemons then give up:
imports of files for root alone, after an installation with umask 077 or from a
Python in root's home, would fail later.

Python's own library is vital: each sysctl fails with "unknown encoding:
ascii", for example.  Packages are mostly loaded by then.
"""

import os
import pwd
import sys

from ovn_network_agent.common import wording


def files() -> list[str]:
    """One file of each directory from which a module was loaded."""
    found: dict[str, str] = {}
    for module in list(sys.modules.values()):
        path = getattr(module, '__file__', None)
        if path and os.path.exists(path):  # not in an archive
            found.setdefault(os.path.dirname(path), path)
    return sorted(found.values())


def unreadable() -> tuple[str, bool]:
    """What this user could not read without privileges, '' if nothing.

    :returns: text, and whether this is Python's own library
    """
    # access(2) takes the real user, without capabilities unless it is root.
    closed = [path for path in files() if not os.access(path, os.R_OK)]
    if not closed:
        return '', False
    return f'{message(_user(), closed)}; {remedy(closed)}', any(
        path.startswith(os.path.dirname(os.__file__) + os.sep) and
        {'site-packages', 'dist-packages'}.isdisjoint(path.split(os.sep))
        for path in closed)


def message(user: str, closed: list[str]) -> str:
    """The text about files that a user cannot read."""
    more = ' and files of ' + wording.count(
        len(closed) - 1, 'more directory', 'more directories') if (
            len(closed) > 1) else ''
    return (f'{user} cannot read files of the program ({closed[0]}{more}), '
            'and the agent gives up the privileges that read them at its '
            'start')


def remedy(closed: list[str]) -> str:
    """What opens the files, a text."""
    if sys.prefix == sys.base_prefix:
        return 'open the directories of these files'
    if all(path.startswith(sys.prefix + os.sep) for path in closed):
        return f'"chmod -R go+rX {sys.prefix}"'
    return ('recreate the virtual environment with the Python of the '
            f'distribution, "/usr/bin/python3 -m venv --clear {sys.prefix}", '
            'and install the agent there again; or open the directories of '
            'these files')


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f'the user {os.getuid():d}'
