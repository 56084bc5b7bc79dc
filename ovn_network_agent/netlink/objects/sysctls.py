# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers



"""Reading of sysctls, which needs no privileges."""

import os

# Bytes, more than the agent's sysctls have.
_MOST = 4096


def read(path: str) -> str | None:
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
