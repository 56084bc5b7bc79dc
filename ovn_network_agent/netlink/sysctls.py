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



"""Reading of sysctls, which needs no privileges."""

import os

# Bytes, more than the agent's sysctls have.
_MOST = 4096


def read(path):
    """Text of a sysctl, None while the sysctl does not exist.

    :param path: path below /proc/sys
    :raises OSError: when the sysctl exists and cannot be read
    """
    try:
        # A watch does this once a second.  A file object of Python would make
        # twice as many system calls.
        opened = os.open(f'/proc/sys/{path}', os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return os.read(opened, _MOST).decode('ascii').strip()
    finally:
        os.close(opened)
