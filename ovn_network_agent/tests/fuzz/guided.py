# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Inputs of atheris, which keeps and changes those that run new code.

Atheris is no requirement, as it has wheels for few versions of Python.  It
changes the modules of the agent while they are imported.
"""

import contextlib
import json
import math
import os
import tempfile
import time
import zlib

import atheris

with atheris.instrument_imports(include=['ovn_network_agent']):
    from ovn_network_agent.tests.fuzz import targets  # noqa: F401


def search(runs, target, corpus, seed, count, seconds):
    """Run inputs until there is a finding; see engine.examples.

    Atheris does not return, so this ends the process.
    """
    most = math.inf if count is None else runs.count + count
    end = math.inf if seconds is None else time.monotonic() + seconds

    def run(data):
        with contextlib.suppress(Exception):
            runs.run(data)
        if runs.findings or runs.count >= most or time.monotonic() >= end:
            runs.report()
            os._exit(0)

    directory = tempfile.mkdtemp()
    for number, data in enumerate(corpus):
        _write(os.path.join(directory, f'{number}'), data)
    words = os.path.join(tempfile.mkdtemp(), 'words')
    _write(words, b'"x"\n' + b''.join(
        b'"%s"\n' % ''.join(f'\\x{byte:02x}' for byte in word).encode()
        for word in (*target.words, *(
            json.dumps(value).encode() for value in target.values))))
    atheris.Setup(['tools/fuzz', directory, f'-dict={words}',
                   '-max_len=8192', '-rss_limit_mb=0',
                   f'-seed={zlib.crc32(str(seed).encode())}'], run)
    atheris.Fuzz()


def _write(path, data):
    with open(path, 'wb') as opened:
        opened.write(data)
