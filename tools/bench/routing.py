# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""FRR of a node that is measured, and its neighbour of BGP."""

import os
import shutil

from tools.bench import programs

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
        programs.spawn([_DAEMONS + name, '-A', '127.0.0.1'], name)
        programs.wait_for(f'/run/frr/{name}.vty')
    programs.run('vtysh', '-b')


def announce_all():
    """Have bgpd announce each route, as without an agent nothing passes."""
    programs.run('vtysh', '-c', 'configure terminal', '-c',
                 f'ip prefix-list {_LIST} seq 5 permit 0.0.0.0/0 le 32')


def wait_before_work(milliseconds: int):
    """Set how long zebra waits before it handles changed routes."""
    programs.run('vtysh', '-c', 'configure terminal', '-c',
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
    programs.run('ip', 'netns', 'add', 'spine')
    programs.run('ip', 'link', 'add', UPLINK, 'type', 'veth', 'peer', 'name',
                 'gw1', 'netns', 'spine')
    programs.run('ip', 'link', 'set', UPLINK, 'up')
    programs.run('ip', 'addr', 'add', '10.0.0.1/30', 'dev', UPLINK)
    for words in ('link set lo up', 'link set gw1 up',
                  'addr add 10.0.0.2/30 dev gw1'):
        programs.run('ip', '-n', 'spine', *words.split())
    programs.spawn(
        ['ip', 'netns', 'exec', 'spine', '/usr/lib/frr/bgpd', '-n', '-f',
         path, '-z', os.path.join(SPINE, 'zserv.api'), '-i',
         os.path.join(SPINE, 'bgpd.pid'), '--vty_socket', SPINE, '-A',
         '127.0.0.1'], 'spine')
    programs.wait_for(os.path.join(SPINE, 'bgpd.vty'))
