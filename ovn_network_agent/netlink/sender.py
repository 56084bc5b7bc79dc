# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers



"""The author of a netlink change, as far as the kernel tells it."""


def described(port: int) -> str:
    """The author of a notification.

    The first netlink socket of a process usually has the number of the process
    as its port; the name is a hint and no proof.

    :param port: nlmsg_pid of the notification, 0 when the kernel does not say
    :returns: text such as ' by netlink port 4711 (ip)', '' when not known
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
