# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""FRR of a node that is measured, and its neighbour of BGP.

The neighbour is asked how many prefixes it has from this node, again and again
in a thread of its own, so that the first change counts at the right time.
"""

import json
import os
import shutil
import threading
import time

from tools.bench import observe
from tools.bench import processes

UPLINK = 'uplink'
# The address of this node, for BGP.
HERE = '10.0.0.1'
_LIST = 'ANNOUNCED-NETWORKS'
_DAEMONS = '/usr/lib/frr/'
# Since FRR 9, mgmtd has the configuration of other daemons.
_FIRST = ('mgmtd',) if os.path.exists(_DAEMONS + 'mgmtd') else ()
_FRR = '''\
frr defaults traditional
router bgp 65001
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 timers bgp 1 60
 neighbor 10.0.0.2 remote-as 65002
 address-family ipv4 unicast
  redistribute static
  redistribute kernel
  neighbor 10.0.0.2 prefix-list ANNOUNCED-NETWORKS out
'''
# The neighbour is in a network namespace of its own, and has no zebra.
SPINE = '/run/frr-spine'
_FRR_OF_SPINE = '''\
frr defaults traditional
router bgp 65002
 bgp router-id 10.0.0.2
 no bgp ebgp-requires-policy
 timers bgp 1 60
 neighbor 10.0.0.1 remote-as 65001
'''


def start():
    """Start the neighbour, and then FRR of this node."""
    for name, text in (('frr.conf', _FRR), ('vtysh.conf', '')):
        _write(os.path.join('/etc/frr', name), text)
    _start_spine()
    for name in (*_FIRST, 'zebra', 'staticd', 'bgpd'):
        processes.spawn([_DAEMONS + name, '-A', '127.0.0.1'], name)
        processes.wait_for(f'/run/frr/{name}.vty')
    processes.run('vtysh', '-b')


def announce_all():
    """Have bgpd announce each route, as without an agent nothing passes."""
    processes.run('vtysh', '-c', 'configure terminal', '-c',
                  f'ip prefix-list {_LIST} seq 5 permit 0.0.0.0/0 le 32')


def wait_before_work(milliseconds: int):
    """Set how long zebra waits before it handles changed routes."""
    processes.run('vtysh', '-c', 'configure terminal', '-c',
                  f'zebra work-queue {milliseconds:d}')


def _write(path, text):
    with open(path, 'w') as opened:
        opened.write(text)
    shutil.chown(path, 'frr', 'frr')


def _start_spine():
    """The neighbour of BGP, so that an announcement is an announcement."""
    os.makedirs(SPINE)
    shutil.chown(SPINE, 'frr', 'frr')
    path = os.path.join(SPINE, 'frr.conf')
    _write(path, _FRR_OF_SPINE)
    processes.run('ip', 'netns', 'add', 'spine')
    processes.run('ip', 'link', 'add', UPLINK, 'type', 'veth', 'peer', 'name',
                  'gw1', 'netns', 'spine')
    processes.run('ip', 'link', 'set', UPLINK, 'up')
    processes.run('ip', 'addr', 'add', '10.0.0.1/30', 'dev', UPLINK)
    for words in ('link set lo up', 'link set gw1 up',
                  'addr add 10.0.0.2/30 dev gw1'):
        processes.run('ip', '-n', 'spine', *words.split())
    processes.spawn(
        ['ip', 'netns', 'exec', 'spine', '/usr/lib/frr/bgpd', '-n', '-f',
         path, '-z', os.path.join(SPINE, 'zserv.api'), '-i',
         os.path.join(SPINE, 'bgpd.pid'), '--vty_socket', SPINE, '-A',
         '127.0.0.1'], 'spine')
    processes.wait_for(os.path.join(SPINE, 'bgpd.vty'))


# Seconds between two questions.
_PAUSE = 0.001
# Names of the two times, for the results.
TIMES = FIRST, LAST = 'first at the neighbour', 'last at the neighbour'


class Learning:
    """Follows the number of prefixes at the neighbour while the block runs.

    The constructor asks once: this number is the one from before.

    :param family: as bgpd names it
    :raises RuntimeError: when the session is not established
    """

    def __init__(self, family: str = 'ipv4 unicast'):
        self._family = family
        self._bgpd = observe.Vty(os.path.join(SPINE, 'bgpd.vty'))
        self._before = self._count()
        # The number at each change, and the monotonic time of the change.
        self._changes = []
        self._news = threading.Condition()
        self._ended = threading.Event()
        self._error = None
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_exception):
        self._ended.set()
        self._thread.join()
        self._bgpd.close()

    def wait(self, difference: int, timeout: float) -> dict:
        """Wait until the neighbour has so many prefixes more.

        :raises RuntimeError: when the time is over, or the session has ended
        """
        wanted = self._before + difference
        with self._news:
            reached = self._news.wait_for(
                lambda: self._error or (self._changes and
                                        self._changes[-1][0] == wanted),
                timeout)
            if self._error:
                raise RuntimeError(self._error)
            if not reached:
                there = self._changes[-1][0] if self._changes else self._before
                raise RuntimeError(
                    f'the neighbour has {there:d} prefixes, not {wanted:d}, '
                    f'after {timeout:g} s')
            return {FIRST: self._changes[0][1], LAST: self._changes[-1][1]}

    def _follow(self):
        last = self._before
        while not self._ended.wait(_PAUSE):
            try:
                count = self._count()
            except (OSError, RuntimeError) as error:
                with self._news:
                    self._error = str(error)
                    self._news.notify()
                return
            if count != last:
                last = count
                with self._news:
                    self._changes.append((count, time.monotonic()))
                    self._news.notify()

    def _count(self):
        """How many prefixes the neighbour has from this node."""
        shown = json.loads(
            self._bgpd.ask(f'show bgp {self._family} summary json'))
        peer = shown.get('peers', {}).get(HERE, {})
        if peer.get('state') != 'Established':
            raise RuntimeError('the neighbour has no session with this node, '
                               f'but {peer.get("state", "nothing")}')
        return peer['pfxRcd']
