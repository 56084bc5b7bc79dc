# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Inputs of atheris, which is led by the lines that have run.

Atheris is no requirement: it has wheels for few versions of Python.
"""

import contextlib
import math
import os
import tempfile
import time
import zlib

import atheris


def search(runs, target, corpus, seed, count, seconds):
    """Run inputs until there is a finding; a function as engine.examples.

    Atheris does not return, so this ends the process.
    """
    most = math.inf if count is None else runs.count + count
    directory = tempfile.mkdtemp()
    for number, data in enumerate(corpus):
        with open(os.path.join(directory, str(number)), 'wb') as opened:
            opened.write(data)
    words = tempfile.NamedTemporaryFile('w', delete=False)
    with words:
        for word in target.words:
            words.write('"' + ''.join(f'\\x{byte:02x}' for byte in word) +
                        '"\n')

    def run(data):
        with contextlib.suppress(Exception):
            runs.run(data)
        if (runs.findings or runs.count >= most or
                time.monotonic() >= end):
            runs.report()
            os._exit(0)

    atheris.instrument_all()
    end = math.inf if seconds is None else time.monotonic() + seconds
    atheris.Setup(['tools/fuzz', directory, f'-dict={words.name}', '-timeout=0',
                   '-rss_limit_mb=0', '-verbosity=0', '-close_fd_mask=0',
                   f'-seed={zlib.crc32(str(seed).encode())}'], run)
    atheris.Fuzz()
