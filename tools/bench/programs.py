# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Programs of a node that is measured, each with its log in /run."""

import os
import subprocess
import time


def spawn(argv, name, **options) -> subprocess.Popen:
    """Start a program that ends with the namespaces."""
    with open(f'/run/{name}.log', 'ab') as log:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log,
                                stderr=log, **options)


def run(*argv) -> str:
    """Run a program to its end, and return its output.

    :raises RuntimeError: when it fails, with what it said
    """
    ended = subprocess.run(argv, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(f'{" ".join(argv)}: status {ended.returncode:d}: '
                           f'{ended.stderr.strip()}')
    return ended.stdout


def wait_for(path):
    """Wait until a file appears."""
    deadline = time.monotonic() + 10
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            raise RuntimeError(f'{path} does not appear')
        time.sleep(0.01)
