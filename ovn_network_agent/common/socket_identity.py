# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""What a socket in the file system shows of the daemon that made it.

A daemon makes its socket again at a start, so another inode or time of change
means a restart.  The reading starts no process.
"""

import os


def of_directory(directory: str, suffix: str) -> dict[str, list[int]]:
    """The marks of all sockets of a directory, by the name without the suffix.

    :param suffix: end of the names, such as '.vty'
    :raises OSError: when the directory cannot be read
    """
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries
                 if entry.name.endswith(suffix)]
    found = {}
    for name in names:
        mark = of_socket(os.path.join(directory, name))
        # Without its socket, the daemon does not run.
        if mark:
            found[name.removesuffix(suffix)] = mark
    return found


def of_socket(path: str) -> list[int] | None:
    """Inode and time of change in ns, None while there is no socket.

    :raises OSError: when the directory cannot be read
    """
    try:
        found = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        os.stat(os.path.dirname(path))
        return None
    return [found.st_ino, found.st_ctime_ns]
