# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

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
