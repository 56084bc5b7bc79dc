# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers



"""Reading of sysctls, which needs no privileges."""

import os

# Bytes, more than the agent's sysctls have.
_MOST = 4096


def read(path: str) -> str | None:
    """Text of a sysctl below /proc/sys, None while it does not exist.

    :raises OSError: when the sysctl exists and cannot be read
    """
    try:
        # Once a second in a watch; a file object makes twice the system calls.
        opened = os.open(f'/proc/sys/{path}', os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return os.read(opened, _MOST).decode('ascii').strip()
    finally:
        os.close(opened)
