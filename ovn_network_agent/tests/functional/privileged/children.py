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
"""Programs of tests that change the mounts of their process."""

import json
import os
import subprocess
import sys


def run(module, **environment):
    """Run a module with mounts of its own, and give what it has found.

    :param module: a module that prints JSON
    :param environment: variables beside those of the test
    :returns: the JSON value
    :raises AssertionError: when the program fails
    """
    done = subprocess.run(
        ['unshare', '--mount', sys.executable, '-W', 'ignore', '-m',
         module.__name__], capture_output=True, text=True, timeout=120,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path),
             **environment})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
