# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which calls of a function this thread makes; the function stays itself."""

import contextlib
import sys


@contextlib.contextmanager
def made(function):
    """List the calls of a Python function while the block runs.

    :param function: with a code object of its own
    :returns: context with a list of dicts, the arguments of each call
    """
    found = []

    def look(frame, event, _value):
        if event == 'call' and frame.f_code is function.__code__:
            found.append(dict(frame.f_locals))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(before)
