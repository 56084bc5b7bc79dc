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
"""Which programs this process starts."""

import contextlib
import sys

_EVENTS = {'subprocess.Popen', 'os.posix_spawn', 'os.fork', 'os.forkpty',
           'os.system'}
_lists = []


def _hear(event, args):
    if event in _EVENTS:
        for one in _lists:
            one.append((event, *map(str, args[:2])))


# Such a hook stays for ever; it costs nothing while nobody listens.
sys.addaudithook(_hear)


@contextlib.contextmanager
def started():
    """List what is started while the block runs, in any thread.

    :returns: context with a list of tuples of str: how, and with which
        arguments
    """
    found = []
    _lists.append(found)
    try:
        yield found
    finally:
        _lists.remove(found)
