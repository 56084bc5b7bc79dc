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
