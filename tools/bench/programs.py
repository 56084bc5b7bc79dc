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
"""Programs of a node that is measured, each with its log in /run."""

import os
import subprocess
import time


def spawn(argv, name, **options):
    """Start a program that ends with the namespaces.

    :param name: of its log, /run/NAME.log
    :param options: for subprocess.Popen
    :returns: subprocess.Popen
    """
    with open(f'/run/{name}.log', 'ab') as log:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log,
                                stderr=log, **options)


def run(*argv):
    """Run a program to its end.

    :raises RuntimeError: when it fails, with what it said
    """
    ended = subprocess.run(argv, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(f'{" ".join(argv)}: status {ended.returncode:d}: '
                           f'{ended.stderr.strip()}')


def wait_for(path):
    """Wait until a file appears."""
    deadline = time.monotonic() + 10
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            raise RuntimeError(f'{path} does not appear')
        time.sleep(0.01)
