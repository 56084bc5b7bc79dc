# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The directories that have to be mounted in the machine and its nodes.

The machine and each node have some directories of their own, such as /tmp.
The repository and the interpreter have to be visible there in any place.
"""

import os
import sys

from lab import birth

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The machine's own directories, see init.py.
MACHINE = ('/tmp', '/run', '/dev')
# The own directories of each node.
NODE = (*birth.VOLATILE, *birth.DISK)


def needed() -> set:
    """Directories that a program of the lab reads.

    :returns: set of str, each directory by its used name and its real name
    """
    # A tree may have symbolic links to the files of another tree.
    real = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    found = {TOP, real, os.getcwd(), sys.prefix, sys.base_prefix}
    return found | {os.path.realpath(path) for path in found}


def hidden(paths, by) -> list[str]:
    """The paths that are below some directories."""
    return sorted(path for path in paths
                  if path.startswith(tuple(name + '/' for name in by)))


def of_machine() -> list[str]:
    """The directories to mount in the machine."""
    return hidden(needed(), MACHINE)


def of_nodes() -> list[str]:
    """The directories to mount in the nodes."""
    return hidden(needed(), NODE)
