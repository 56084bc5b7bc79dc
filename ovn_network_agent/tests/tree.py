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
