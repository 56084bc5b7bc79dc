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
"""Which processor of the host a lab machine has: one, for itself.

To its programs user-mode Linux is a machine with one processor.  To the host
it is several processes: a kernel, and one for each of these programs.  One of
them runs at a time, and the turn passes at every system call and page fault.
Where the host lets the next one run on another processor, that turn costs
three to four times as much: getppid 74 and 17 us, fork 45 and 17 ms, the start
of Python 446 and 149 ms (6.12, two processors).
"""

import contextlib
import fcntl
import os


@contextlib.contextmanager
def reserved(directory):
    """Have a processor that no other machine has, as far as there are any.

    :param directory: where all machines of this user keep their locks, str
    :returns: context manager with the number of the processor, int
    """
    allowed = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        for number in allowed:
            if _locked(stack, os.path.join(
                    directory, f'processor-{number:d}.lock')):
                break
        else:
            # More machines than processors: they share.
            number = allowed[os.getpid() % len(allowed)]
        yield number


def _locked(stack, path):
    """Lock a file until the end of a stack; False where another one has it."""
    opened = stack.enter_context(open(path, 'a', encoding='ascii'))
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
