# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers



"""The author of a netlink change, as far as the kernel tells it."""


def described(port: int) -> str:
    """The author of a notification: ' by netlink port 4711 (ip)' or ''.

    The first netlink socket of a process usually has its number as the port
    (nlmsg_pid); the name is a hint and no proof.
    """
    if not port:
        return ''
    try:
        with open(f'/proc/{port:d}/comm', encoding='utf-8',
                  errors='replace') as opened:
            return f' by netlink port {port} ({opened.read().strip()})'
    except OSError:
        # The process has ended, or the port is no number of a process.
        return f' by netlink port {port}'
