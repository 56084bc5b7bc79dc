# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The source tree, and copies of it."""

import os
import shutil

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__),
                                    *[os.pardir] * 2))
# Made by tools, or by an installation in place.
_LEFT_OUT = {'.git', '.venv', '.tox', 'build', 'dist', '.stestr', 'cover',
             '.lab', '__pycache__'}


def files():
    """Relative paths of the files of the source tree, without made ones."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in _LEFT_OUT and
                      not name.endswith('.egg-info')]
        # In a second work tree .git is a file.
        for name in sorted(set(names) - _LEFT_OUT):
            yield os.path.relpath(os.path.join(folder, name), ROOT)


def copy(target):
    """Copy the source tree, without git.

    :param target: directory that need not exist
    """
    for name in files():
        path = os.path.join(target, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy2(os.path.join(ROOT, name), path)
