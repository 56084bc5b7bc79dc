# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the tests of port forwarding share: backends, rules, one cloud.

Router alpha is on gw1 with two machines, one of them with a floating IP.  The
node backend has a responder at each of its addresses, and sends what is for
clients to gw1, but nothing to floating IPs.  gw1 always announces its VIPs,
gw2 only with a gateway.
"""

import ipaddress
import os
import re
import signal
import socket
import struct

import yaml

from lab import echo
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base

RULES = '/etc/ovn-network-agent/forwards.yaml'
# VIPs, none of them in the provider network.
PLAIN, HAIRPIN, ROUTER, MANY, OTHER, CHECKED, FOREIGN, OPERATORS = (
    str(plan.VIPS[n]) for n in (10, 20, 30, 40, 50, 60, 70, 80))
PLAIN6 = str(plan.VIPS6[10])
# Backends: the node's own, and those elsewhere.
LOCAL = plan.HOSTS['gw1']
LOCAL6 = plan.host6('gw1')
REMOTE, MASQUERADED, *SEVERAL = plan.BACKENDS
REMOTE6, MASQUERADED6 = (plan.backend6(a) for a in (REMOTE, MASQUERADED))
_NETLINK_NETFILTER = 12


def rule(proto, port, *backends, **more):
    """A rule of the file; backends answer on the port of echo."""
    values = {'proto': proto, 'port': port, 'dest_port': echo.PORT, **more}
    if len(backends) == 1:
        return {'dest_addr': backends[0], **values}
    return {'dest_addrs': list(backends), **values}


def both(port, *backends, **more):
    """A rule for TCP and one for UDP."""
    return [rule(proto, port, *backends, **more) for proto in ('tcp', 'udp')]


def vip(address, *rules, **more):
    """A VIP of the file."""
    return {'vip': address, 'manage_vip': True, **more,
            'rules': [one for rule_ in rules for one in (
                rule_ if isinstance(rule_, list) else [rule_])]}


def put(node, vips):
    """Put a rules file in place, at once, as a deployment does.

    :param vips: list of VIPs, or the text of the file
    """
    text = vips if isinstance(vips, str) else yaml.safe_dump(
        {'port_forwards': vips}, sort_keys=False)
    node.write(RULES + '.new', text)
    os.rename(node.path(RULES + '.new'), node.path(RULES))


VIPS = [
    vip(PLAIN, both(80, LOCAL), both(81, REMOTE),
        both(82, MASQUERADED, masquerade=True),
        # The same port as the backend's.
        [{'proto': proto, 'port': echo.PORT, 'dest_addr': REMOTE}
         for proto in ('tcp', 'udp')]),
    vip(HAIRPIN, both(81, REMOTE), both(80, LOCAL), hairpin_masquerade=True),
    vip(ROUTER, both(81, REMOTE), router_masquerade=True),
    vip(MANY, both(80, *SEVERAL)),
    vip(PLAIN6, both(80, LOCAL6), both(81, REMOTE6),
        both(82, MASQUERADED6, masquerade=True))]


class ForwardTestCase(base.LabTestCase):
    """A class of tests with VIPs on gw1 and gw2.

    :cvar expected_untranslated: packets from backends to clients that tests
        sent past the VRF on purpose
    """

    AGENTS = False
    # Both agents stop: the second one would wait for the first to be back.
    CONFIG = {'gateway_drain': {'drain_on_shutdown': 'false'}}
    expected_untranslated = 0

    @classmethod
    def build(cls):
        cloud = cls.cloud
        cls.alpha = cloud.add_router('alpha', ['gw1', 'gw2'])
        cls.vm, cls.fip = cls.machine(cls.alpha)
        cls.inner, _none = cls.machine(cls.alpha, fip=False)
        cloud.add_ipv6()
        cls._start_backends()
        cls.before = {name: cls.state(name) for name in cloud.gateways}
        for name, announce in (('gw1', 'always'), ('gw2', 'with-gateway')):
            cls.write_rules(name, VIPS)
            config = cls.configuration()
            config['port_forward'] = {
                'rules_file': RULES, 'port_forward_l3mdev_accept': 'true',
                'vip_announce': announce}
            cloud.agent(name, config)
        cloud.start_agents(names=cloud.gateways)
        cloud.wait_announced(cls.fip.address, 'gw1', base.SETTLE)
        for address in (PLAIN, HAIRPIN, ROUTER, MANY):
            cloud.wait_announced(address, 'gw1', base.SETTLE)
        cls.chains = {name: _chains(cls.table(name))
                      for name in cloud.gateways}

    @classmethod
    def _start_backends(cls):
        backend = cls.cloud['backend']
        for address in plan.BACKENDS:
            echo.start(backend, name='echo-' + address, address=address)
        for address in (REMOTE6, MASQUERADED6):
            echo.start(backend, name='echo-' + address, address=address)
        echo.start(cls.cloud['gw1'])
        # The way back of what is not masqueraded; what floating IPs ask
        # comes back on no way at all.
        backend.batch(
            f'route add {plan.CLIENT_NET} via {LOCAL}\n'
            f'route add {plan.CROWD} via {LOCAL}\n'
            f'route add {plan.CLIENT_NET6} via {LOCAL6}\n'
            f'route add blackhole {plan.PROVIDER}\n')

    def setUp(self):
        super().setUp()
        self._others = set()
        self.addCleanup(self._all_translated)

    def _all_translated(self):
        """No backend had to look for its client by itself."""
        expected = self.expected_untranslated
        self.untranslated_on_purpose()
        self.assertEqual(expected, self.expected_untranslated,
                         'packets of backends that missed the VRF')

    def untranslated_on_purpose(self):
        """What the sink has counted so far is as it should be."""
        type(self).expected_untranslated = self.cloud.sink.untranslated()

    # -- rules ------------------------------------------------------------

    @classmethod
    def write_rules(cls, name, vips):
        """Another rules file, which nobody is told of."""
        put(cls.cloud[name], vips)

    def reload(self, name, vips, said='Port forwards of'):
        """Other rules, and SIGHUP; returns when they are read."""
        mark = self.mark(name)
        self.write_rules(name, vips)
        self.cloud.agents[name].process.send_signal(signal.SIGHUP)
        self.wait_said(name, said, mark)

    def other_rules(self, name, vips):
        """The same, and the usual ones again at the end of the test."""
        if name not in self._others:
            self._others.add(name)
            self.addCleanup(self.usual_rules, name)
        self.reload(name, vips)

    def usual_rules(self, name):
        """Back to the rules that the tests expect.

        The elements of sets are left out: they follow the routers.
        """
        self.reload(name, VIPS)
        usual = {one['vip'] for one in VIPS} if name == 'gw1' else set()
        nodes.wait_until(
            lambda: f'{name} has the usual VIPs: {self.vips_of(name)}',
            lambda: self.vips_of(name) - {OPERATORS} == usual, base.SETTLE)
        nodes.wait_until(f'{name} has the usual table', lambda: (
            _chains(self.table(name)) == self.chains[name]), base.SETTLE)
        nodes.wait_until('the spine knows the usual VIPs', lambda: (
            {address for address in self.cloud.host_routes()
             if ipaddress.ip_address(address) in plan.VIPS} ==
            {one['vip'] for one in VIPS if ':' not in one['vip']}),
            base.SETTLE)

    def balance(self, name, balance):
        """Another way to spread clients, by SIGHUP, until the end."""
        agent = self.cloud.agents[name]
        if agent.config['port_forward'].get('balance', 'jhash') == balance:
            return
        if balance != 'jhash':
            self.addCleanup(self.balance, name, 'jhash')
        agent.config['port_forward']['balance'] = balance
        agent.write_config()
        before = self.table(name)
        agent.process.send_signal(signal.SIGHUP)
        nodes.wait_until('the table is another',
                         lambda: self.table(name) not in ('', before),
                         base.SETTLE)

    # -- what is on a node ------------------------------------------------

    @classmethod
    def state(cls, name):
        """As in the base class, without the digests of :func:`words`."""
        found = super().state(name)
        found['nft list ruleset'] = sorted(
            map(_without_digest, found['nft list ruleset']))
        return found

    def vips_of(self, name):
        """VIPs that are on the device, a set of text."""
        out = self.cloud[name].out('ip', '-o', 'addr', 'show', 'dev',
                                   'loopback1')
        return {address for address in re.findall(r'inet6? (\S+)/', out)
                if address.startswith(('198.18.0.', '2001:db8:f:'))}

    @classmethod
    def table(cls, name='gw1', family='ip'):
        """Our table as nft lists it, '' when there is none."""
        return cls.cloud[name].run(
            ['nft', 'list', 'table', family, ownership.NFT_TABLE],
            check=False).stdout

    def generation(self, name='gw1'):
        """How many transactions nftables of a node has seen so far."""
        return self.cloud[name].call(_generation)

    # -- traffic ----------------------------------------------------------

    def asked(self, address, port, kind='tcp', node=None, count=3,
              **kwargs):
        """Ask a VIP some times; each time it has to answer.

        :returns: (the responder, the source that it saw)
        """
        node = node or self.client
        probe.wait_reachable(node, kind, address, base.SETTLE, port=port,
                             **kwargs)
        report = probe.ping(node, address, count, 0.02, kind, port=port,
                            **kwargs)
        self.assertEqual((count, 0), (report.received, report.lost),
                         str(report))
        self.assertEqual((1, 1), (len(report.responders),
                                  len(report.seen_sources)), str(report))
        return (*report.responders, *report.seen_sources)

    def silent(self, address, port, kind, node):
        """Nobody answers there; the negative of :meth:`asked`."""
        self.assertTrue(probe.unreachable(node, kind, address, port=port,
                                          tries=3))

    def running_probe(self, address, port, kind='udp', node=None):
        """Probes already answered; 'udp' and 'stream' are one connection."""
        probe.wait_reachable(node or self.client, kind, address, base.SETTLE,
                             port=port)
        return probe.Probe(node or self.client, kind, address, 0.02,
                           port=port)


def words(listing):
    """A listing of nft, whatever the order of the elements of its sets.

    Without the digest of the listing that is kept in it: of that the order
    is a part.
    """
    return sorted(re.split(r'[\s,]+', _without_digest(listing)))


def _without_digest(text):
    return re.sub(r'list:\w+', '', text)


def _chains(listing):
    return words(listing.partition('\tchain ')[2])


def clients(count):
    """Addresses of that many of the client's."""
    return [str(plan.CROWD[n]) for n in range(1, count + 1)]


def _generation():
    """The generation of nftables in this network namespace."""
    # NFNL_SUBSYS_NFTABLES, NFT_MSG_GETGEN; NLM_F_REQUEST.
    request = struct.pack('=LHHLLBBH', 20, 10 << 8 | 16, 1, 1, 0, 0, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                       _NETLINK_NETFILTER) as kernel:
        kernel.send(request)
        answer = kernel.recv(65536)
    # The first attribute is NFTA_GEN_ID.
    length, kind = struct.unpack_from('=HH', answer, 20)
    if (length, kind) != (8, 1):
        raise nodes.NodeError('the kernel tells no generation')
    return struct.unpack_from('!L', answer, 24)[0]
