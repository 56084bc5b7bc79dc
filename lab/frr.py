# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""FRR on gateways and on the spine, configured as a deployment does."""

import contextlib
import os
import signal
import socket

from lab import node as nodes
from lab import plan

PROGRAMS = '/usr/lib/frr'
# In FRR 9 and later, mgmtd has the configuration of other daemons.
_FIRST = tuple(name for name in ('mgmtd',)
               if os.path.exists(os.path.join(PROGRAMS, name)))
# The daemon that has the configuration of static routes.
STATIC = (*_FIRST, 'staticd')[0]
DAEMONS = (*_FIRST, 'zebra', 'staticd', 'bgpd')
# Seconds for an answer.
_ANSWER = 30
# By default bgpd takes in changed route-maps and lists after 5 s, and begins
# no session before.
_SOON = 'bgp route-map delay-timer 1'
# The option with which zebra replaces a changed route of IPv6.  Without, zebra
# removes the route and adds it again, which looks like a withdrawal.
REPLACES = '--v6-rr-semantics'
_INIT = os.path.join(PROGRAMS, 'frrinit.sh')


def gateway_config(name):
    """frr.conf of a gateway."""
    # FABRIC: the host routes of the other gateways are needed beside the
    # default route, because the VRF has a route of the whole provider network
    # to the veth.
    # nht: FRR 10 would look for the next hop of the announced routes by way of
    # the fabric, and go on announcing, where the veth pair is gone.
    # PROVIDER-LOOPBACK, NODE-LOOPBACK: what is on loopback1 is redistributed,
    # and announced if it is the node's own address or the agent has listed it.
    # PROVIDER-KERNEL: the "unreachable" default route of the VRF must not
    # become bgpd's own, or the one learned from the fabric would never be
    # used.
    peer, address = plan.UPLINKS[name]
    return f'''\
frr defaults traditional
hostname {name}
service integrated-vtysh-config
!
vrf {plan.VRF}
 no ip nht resolve-via-default
exit-vrf
!
router bgp {plan.GATEWAY_AS[name]} vrf {plan.VRF}
 bgp router-id {address}
 timers bgp 1 9
 no bgp default ipv4-unicast
 neighbor {peer} remote-as {plan.SPINE_AS}
 neighbor {peer} timers connect 1
 !
 address-family ipv4 unicast
  redistribute static
  redistribute kernel route-map PROVIDER-KERNEL
  redistribute connected route-map PROVIDER-LOOPBACK
  neighbor {peer} activate
  neighbor {peer} soft-reconfiguration inbound
  neighbor {peer} route-map PROVIDER-IN in
  neighbor {peer} route-map PROVIDER-FILTER-OUT out
 exit-address-family
exit
!
ip prefix-list NODE-LOOPBACK seq 5 permit {plan.LOOPBACKS[name]}/32
ip prefix-list DEFAULT-ROUTE seq 5 permit 0.0.0.0/0
ip prefix-list FABRIC seq 5 permit 0.0.0.0/0
ip prefix-list FABRIC seq 10 permit 0.0.0.0/0 ge 32
!
route-map PROVIDER-LOOPBACK permit 10
 match interface loopback1
exit
!
route-map PROVIDER-KERNEL deny 10
 match ip address prefix-list DEFAULT-ROUTE
exit
!
route-map PROVIDER-KERNEL permit 20
exit
!
route-map PROVIDER-IN permit 10
 match ip address prefix-list FABRIC
exit
!
route-map PROVIDER-FILTER-OUT permit 10
 match ip address prefix-list NODE-LOOPBACK
exit
!
route-map PROVIDER-FILTER-OUT permit 20
 match ip address prefix-list ANNOUNCED-NETWORKS
exit
!
'''


def _sessions(peers):
    """The lines of the spine for gateways, and those in an address family.

    :param peers: dict of gateway to its address
    """
    return (''.join(f' neighbor {peer} remote-as {plan.GATEWAY_AS[name]:d}\n'
                    f' neighbor {peer} timers connect 1\n'
                    for name, peer in peers.items()),
            ''.join(f'  neighbor {peer} activate\n'
                    f'  neighbor {peer} default-originate\n'
                    for peer in peers.values()))


def spine_config(gateways):
    """frr.conf of the spine."""
    neighbors, activations = _sessions({
        name: plan.UPLINKS[name][1] for name in gateways})
    return f'''\
frr defaults traditional
hostname spine
service integrated-vtysh-config
!
router bgp {plan.SPINE_AS}
 bgp router-id {plan.CLIENT_GATEWAY}
 timers bgp 1 9
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 bgp bestpath as-path multipath-relax
{neighbors} !
 address-family ipv4 unicast
  network {plan.CLIENT_NET}
{activations} exit-address-family
exit
!
'''


def gateway_config6(name):
    """The additions for IPv6 on a gateway: a session and its filters."""
    peer = plan.uplink6(name)[0]
    return f'''\
router bgp {plan.GATEWAY_AS[name]} vrf {plan.VRF}
 neighbor {peer} remote-as {plan.SPINE_AS}
 neighbor {peer} timers connect 1
 !
 address-family ipv6 unicast
  redistribute static
  redistribute kernel route-map PROVIDER-KERNEL6
  redistribute connected route-map PROVIDER-LOOPBACK
  neighbor {peer} activate
  neighbor {peer} soft-reconfiguration inbound
  neighbor {peer} prefix-list FABRIC in
  neighbor {peer} prefix-list ANNOUNCED-NETWORKS out
 exit-address-family
exit
!
ipv6 prefix-list DEFAULT-ROUTE seq 5 permit ::/0
ipv6 prefix-list FABRIC seq 5 permit ::/0
ipv6 prefix-list FABRIC seq 10 permit ::/0 ge 128
!
route-map PROVIDER-KERNEL6 deny 10
 match ipv6 address prefix-list DEFAULT-ROUTE
exit
!
route-map PROVIDER-KERNEL6 permit 20
exit
'''


def spine_config6(gateways):
    """The additions for IPv6 on the spine."""
    neighbors, activations = _sessions({
        name: plan.uplink6(name)[1] for name in gateways})
    return f'''\
router bgp {plan.SPINE_AS}
{neighbors} address-family ipv6 unicast
  network {plan.CLIENT_NET6}
{activations} exit-address-family
exit
!
'''


def bfd_config(name, spine: bool = False):
    """The additions for BFD between the spine and a gateway."""
    peer, address = plan.UPLINKS[name]
    if spine:
        return (f'router bgp {plan.SPINE_AS}\n neighbor {address} bfd\n'
                'exit\n')
    return (f'router bgp {plan.GATEWAY_AS[name]} vrf {plan.VRF}\n'
            f' neighbor {peer} bfd\nexit\n')


def add(node, config):
    """Add configuration to running daemons, and save it like an operator."""
    load(node, config)
    node.run(['vtysh', '-c', 'write memory'])


def load(node, config):
    """Add configuration to running daemons.

    One process handles any number of lines.
    """
    node.write('/etc/frr/more.conf', config)
    with soon(node):
        node.run(['vtysh', '-f', '/etc/frr/more.conf'])


@contextlib.contextmanager
def soon(node):
    """Have bgpd use changed route-maps and lists after 1 s, not 5."""
    ask(node, 'bgpd', 'configure terminal', _SOON)
    try:
        yield
    finally:
        ask(node, 'bgpd', 'configure terminal', f'no {_SOON}')


def start(node, config, zebra=()):
    """Start the daemons, and load the configuration."""
    node.write('/etc/frr/frr.conf', f'{_SOON}\n{config}')
    node.write('/etc/frr/vtysh.conf', 'service integrated-vtysh-config\n')
    node.write('/etc/frr/daemons', 'bgpd=yes\n')
    node.run(['sh', '-c', 'mkdir -p /run/frr && chown frr:frr /run/frr '
                          '/var/log/frr && chown -R frr:frr /etc/frr'])
    for names in (_FIRST, ('zebra',), ('staticd', 'bgpd')):
        for name in names:
            start_daemon(node, name, *(zebra if name == 'zebra' else ()))
        for name in names:
            wait_for(node, name)
    node.run(['vtysh', '-b'])
    ask(node, 'bgpd', 'configure terminal', f'no {_SOON}')
    node.write('/etc/frr/frr.conf', config)


def stop(node, number=signal.SIGTERM):
    """End all daemons; after SIGKILL, zebra's routes stay.

    :func:`start` starts them with the saved configuration; unsaved lines are
    gone.
    """
    names = ['bgpd', 'staticd', 'zebra', *_FIRST]
    if number == signal.SIGKILL:
        # zebra must not see another one die, whose routes it would remove.
        names.sort(key='zebra'.__ne__)
    for name in names:
        node.stop(name, number)


def supervise(node, options=''):
    """Start the daemons as FRR's unit does: under watchfrr.

    They have the saved configuration, as after a boot.
    """
    bfdd = 'yes' if ' bfd\n' in node.read('/etc/frr/frr.conf') else 'no'
    node.write('/etc/frr/daemons', f'bgpd=yes\nbfdd={bfdd}\n'
               f'vtysh_enable=yes\nwatchfrr_options="{options}"\n'
               'zebra_options="-A 127.0.0.1 -s 90000000"\n'
               'bgpd_options="-A 127.0.0.1"\n'
               'staticd_options="-A 127.0.0.1"\n'
               'bfdd_options="-A 127.0.0.1"\n')
    # A socket that a killed daemon has left would be taken for the daemon.
    node.run(['sh', '-c', 'rm -f /run/frr/*.vty /run/frr/*.pid'])
    # The daemons of FRR 10 keep the output of the program open.
    node.run(['sh', '-c', f'{_INIT} start >/var/log/frr/start.log 2>&1'])
    for name in ('zebra', 'staticd', 'bgpd'):
        wait_for(node, name)


def unsupervise(node):
    """End watchfrr and the daemons, and start those of :func:`start`."""
    node.run([_INIT, 'stop'], timeout=120)
    start(node, node.read('/etc/frr/frr.conf'))


def pid(node, name):
    """The process id of a daemon under watchfrr, text; '' without one."""
    path = f'/run/frr/{name}.pid'
    return node.read(path).strip() if node.exists(path) else ''


def answers(node, name):
    """Whether a daemon takes connections; a killed one leaves its socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(node.path(_socket(name))) == 0


def start_daemon(node, name, *options):
    """Start one FRR daemon in the foreground."""
    # A killed daemon leaves its socket.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(node.path(_socket(name)))
    argv = [os.path.join(PROGRAMS, name), '-A', '127.0.0.1', '--log',
            f'file:/var/log/frr/{name}.log', *options]
    node.spawn(name, argv)


def wait_for(node, name):
    """Wait until a daemon accepts commands."""
    nodes.wait_until(f'{node.name}: {name} takes commands', lambda:
                     os.path.exists(node.path(_socket(name))))


def ask(node, name: str, *commands) -> str:
    """Give a daemon commands as vtysh does, but without a process.

    Tests ask again and again until FRR has what they wait for.  In the
    machine, a vtysh takes 0.2 s of the one processor, and FRR is the later.
    An answer ends with three zeros and the status.

    :raises NodeError: when the daemon refuses a command, or does not answer
    """
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(_ANSWER)
        try:
            asking.connect(node.path(_socket(name)))
            for command in ('enable', *commands):
                asking.sendall(command.encode() + b'\0')
                answer = _answer(asking)
                if answer[-1]:
                    raise nodes.NodeError(
                        f'{node.name}: {name}: {command}: status '
                        f'{answer[-1]:d}\n{answer[:-4].decode()}')
        except OSError as e:
            raise nodes.NodeError(f'{node.name}: {name}: {commands[-1]}: {e}'
                                  ) from e
    return answer[:-4].decode()


def _answer(asking):
    """Read the answer to one command, bytes with its end."""
    answer = b''
    while answer[-4:-1] != b'\0\0\0':
        data = asking.recv(65536)
        if not data:
            raise ConnectionResetError('the daemon has ended')
        answer += data
    return answer


def _socket(name):
    return f'/run/frr/{name}.vty'
