# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the kernel tells of each transaction of nftables, in its order."""

import contextlib
import subprocess

from ovn_network_agent.tests import waiting

# Begins the line that ends a transaction.
_END = '# new generation '
# NFNLGRP_NFTABLES as a bit, and columns of /proc/net/netlink.
_GROUP = 1 << 6
_PROTOCOL, _PID, _GROUPS = 1, 2, 3
# Seconds; on a machine that is very slow.
_LIMIT = 30
_MARKER = 'end-of-what-is-monitored'


class Monitor:
    """A running "nft monitor" of the namespace of this thread."""

    def __init__(self, process):
        self._process = process

    def transactions(self):
        """All transactions so far and since the last call.

        :returns: list of lists of lines, like "delete rule ip TABLE CHAIN
            handle 7"
        """
        # Notifications are in order, so nothing is behind the marker's own.
        _nft(f'add table ip {_MARKER}')
        _nft(f'delete table ip {_MARKER}')
        found, lines = [], []
        for line in iter(self._process.stdout.readline, ''):
            if not line.startswith(_END):
                lines.append(line.strip())
                continue
            if any(line.startswith(f'delete table ip {_MARKER}')
                   for line in lines):
                break
            found.append(lines)
            lines = []
        return [one for one in found if _MARKER not in ''.join(one)]


@contextlib.contextmanager
def watching():
    """Run "nft monitor" while the block runs.

    :returns: context with a :class:`Monitor` that has begun to listen
    """
    with subprocess.Popen(['nft', '-a', '-n', 'monitor'], text=True,
                          stdout=subprocess.PIPE) as process:
        try:
            _wait_until_it_listens(process)
            yield Monitor(process)
        finally:
            process.kill()


def _wait_until_it_listens(process):
    """nft does not say so; the kernel does."""
    def listens():
        if process.poll() is not None:
            raise RuntimeError('nft monitor has ended')
        return _listens(process.pid)

    waiting.eventually(listens, 'nft monitor listens', _LIMIT)


def _listens(pid):
    with open('/proc/thread-self/net/netlink') as opened:
        rows = [line.split() for line in opened][1:]
    return any(int(row[_PID]) == pid and int(row[_GROUPS], 16) & _GROUP
               for row in rows if row[_PROTOCOL] == '12')


def _nft(command):
    subprocess.run(['nft', *command.split()], check=True)
