# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A cloud with egress addresses in all modes, and what hosts outside see."""

import json
import os
import socket
import time

from lab import dual
from lab import echo
from lab import node as nodes
from lab import plan
from ovn_network_agent import ownership
from ovn_network_agent.backends.northbound import locked_rows
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import beyond
from ovn_network_agent.tests.lab import judged

DRIVERS = 'fip_route,veth_leak,gateway_drain,port_forward,egress_ip'
FILE = '/etc/ovn-network-agent/egress-ips.yaml'
# Egress addresses of the modes router, ecmp and host.
WEB, WEB6 = '198.51.100.50', str(plan.PROVIDER6[0x50])
CRAWL = ('198.51.100.60', str(plan.FURTHER_PROVIDERS[60]))
FIRM, FIRM6 = str(beyond.NETWORK[50]), str(beyond.NETWORK6[0x50])
NEVER = str(beyond.NETWORK[60])
SELECT = ownership.EXT_ID_EGRESS_SELECT
KINDS = ('tcp', 'udp', 'icmp')
# More than two packets of any link.
LARGE = 3000
# The objects of the agent on a node, by commands of ip.
_OURS = (('rule', 'show', 'proto', '44'),
         ('-6', 'rule', 'show', 'proto', '44'),
         ('route', 'show', 'table', 'all', 'proto', '44'),
         ('-6', 'route', 'show', 'table', 'all', 'proto', '44'),
         ('-o', 'addr', 'show', 'dev', beyond.LINK))


class EgressTestCase(base.LabTestCase):
    """Alpha and gamma, and three objects at the begin of each test.

    Of one network of alpha, ``here`` leaves by the object "web" of the mode
    router, ``aside`` by "firm" of the mode host, and ``other`` with the
    address of the router; ``inner`` is in another network.  Gamma has two
    gateway ports, each with SNAT, and ``third`` leaves by "crawl" of the mode
    ecmp.
    """

    FURTHER = True
    CONFIG = {'DEFAULT': {'drivers': DRIVERS,
                          'further_bridges': plan.FURTHER_BRIDGE},
              'egress_ip': {'file': FILE}}

    @classmethod
    def build(cls):
        cloud, cls.outside = cls.cloud, cls.cloud['client']
        cloud.add_ipv6()
        cls.beyond = beyond.Beyond(cloud)
        cls.addClassCleanup(cls.beyond.close)
        cls.alpha = cloud.add_router('alpha', ['gw1', 'gw2'])
        cls.gamma = cloud.add_router('gamma', ['gw1', 'gw2'], snat=False)
        further = cloud.neutron.add_provider_network(
            'further', next(plan.FURTHER_PROVIDERS.subnets(new_prefix=24)),
            plan.FURTHER_NETWORK)
        cls.second = cloud.neutron.add_gateway(
            cls.gamma, further, {'gw2': 2, 'gw1': 1})
        for port in (cls.gamma, cls.second):
            cls.central('ovn-nbctl', f'--gateway-port={port.lrp}',
                        'lr-nat-add', port.row_name, 'snat', port.address,
                        str(port.internal.cidr))
        cls.both = dual.Dual(cloud.neutron, cls.alpha, 1)
        cls.both.snat()
        inner = cloud.neutron.add_interface(cls.alpha, plan.tenant(98, 4))
        cls.here, cls.other, cls.aside, cls.inner, cls.third = (
            cls.machine(place, fip=False)[0] for place in (
                cls.alpha, cls.alpha, cls.alpha, inner, cls.gamma))
        cls.six = {vm: cls.both.machine(vm)
                   for vm in (cls.here, cls.other, cls.aside)}
        for node in (cls.outside, cls.beyond.node):
            echo.start(node)
            judged.listen(node)
        for option, gateway in (('-4', plan.CLIENT_GATEWAY),
                                ('-6', plan.CLIENT_GATEWAY6)):
            cls.outside.batch(f'route change default via {gateway} dev eth0 '
                              f'mtu {plan.TENANT_MTU}\n', option)
        for name in cloud.gateways:
            cls.label(name, 'true')
        cls.web = {'name': 'web', 'addresses': [WEB, WEB6],
                   'select': {'ports': [cls.here.port.uuid]}}
        cls.crawl = {'name': 'crawl', 'addresses': [*CRAWL], 'mode': 'ecmp',
                     'select': {'router': 'gamma'}}
        cls.firm = {'name': 'firm', 'addresses': [FIRM, FIRM6],
                    'mode': 'host', 'select': {'ports': [cls.aside.port.uuid]}}
        cls.put()

    def setUp(self):
        super().setUp()
        self.put()
        for router, name in ((self.alpha, 'gw1'), (self.gamma, 'gw1'),
                             (self.second, 'gw2')):
            if self.cloud.neutron.owner(router) != name:
                self.cloud.move(router, name)
        self.wait_rows(self.rows_of('gw1'))
        self.cloud.wait_alone(WEB, 'gw1', base.SETTLE)
        self.wait_leaves(self.aside, beyond.NEAR, FIRM)

    @classmethod
    def label(cls, name, value):
        """Whether a node may have egress addresses of the mode host."""
        key = ownership.EXT_ID_EGRESS_NODE.replace(':', '\\:')
        cls.cloud[name].run(['ovs-vsctl', 'set', 'Open_vSwitch', '.',
                             f'external_ids:{key}={value}'])

    # -- the file, and the rows -------------------------------------------

    @classmethod
    def put(cls, *objects, names=None):
        """Have these objects in the files of the gateways.

        :param objects: those of all tests by default
        """
        text = json.dumps({'egress_ips': objects or (
            cls.web, cls.crawl, cls.firm)})
        for name in names or cls.cloud.gateways:
            node = cls.cloud[name]
            node.write(FILE + '.new', text)
            os.rename(node.path(FILE + '.new'), node.path(FILE))

    def meanwhile(self, *objects):
        """Objects beside the usual ones until the end of the test."""
        self.addCleanup(self.put)
        self.put(*objects, self.web, self.crawl, self.firm)

    def rows_of(self, chassis):
        """The NAT rows of the usual objects, while a node has alpha."""
        aside = self.aside.port.address, self.six[self.aside]
        return {('web', self.here.port.address, WEB, '', ''),
                ('web', self.six[self.here], WEB6, '', ''),
                *(('crawl', self.third.port.address, address, '', '')
                  for address in CRAWL),
                ('firm', aside[0], aside[0], FIRM, chassis),
                ('firm', aside[1], aside[1], FIRM6, chassis)}

    def rows(self):
        """(object, machine, external IP, egress address, node) of NAT rows."""
        with self.cloud.nb.connection.lock:
            return {(ids[ownership.EXT_ID_EGRESS], row.logical_ip,
                     row.external_ip,
                     ids.get(ownership.EXT_ID_EGRESS_ADDRESS, ''), chassis and
                     plan.node_of(chassis))
                    for row in self.cloud.nb.idl.tables['NAT'].rows.values()
                    for ids in [row.external_ids]
                    if ownership.EXT_ID_EGRESS in ids
                    for chassis in [ids.get(
                        ownership.EXT_ID_EGRESS_CHASSIS, '')]}

    def wait_rows(self, wanted):
        nodes.wait_until(
            lambda: f'the rows are {sorted(wanted)}: {sorted(self.rows())}',
            lambda: self.rows() == wanted, base.SETTLE, 0.01)

    def writer(self):
        """Name of the gateway whose agent writes."""
        return self.lock_holder(locked_rows.EGRESS_LOCK)

    def standby(self):
        """Name of the other one."""
        return next(name for name in self.cloud.gateways
                    if name != self.writer())

    @classmethod
    def central(cls, *args):
        return cls.cloud['central'].out(*args)

    # -- traffic ----------------------------------------------------------

    def leaves(self, vm, target, source, node=None):
        """A machine reaches a host outside, which sees this source alone."""
        for kind in KINDS:
            self.assertEqual({source}, self.seen(
                vm, kind, target, node or self.client), f'{kind} {target}')

    def seen(self, vm, kind, target, node):
        """The sources that a host sees of a machine."""
        judged.forget(node)
        found = self.reach(vm.node, kind, target, 3)
        return judged.heard(node) if kind == 'icmp' else {*found.seen_sources}

    @staticmethod
    def wait_leaves(vm, target, source, timeout=base.SETTLE):
        """Wait until a host outside sees a source.

        :returns: when its answer came, of ``time.monotonic()``
        """
        seen = vm.node.call(_ask_until, target, source, timeout)
        if seen[-1] != source:
            raise nodes.NodeError(f'{target} does not see {source} but {seen}')
        return time.monotonic()

    def fragmented(self, vm, *targets):
        """Questions and answers that are larger than any packet."""
        for target in targets:
            self.assertEqual(LARGE, vm.node.call(_large, target), target)
            vm.node.run(['ping', '-c', '3', '-i', '0.1', '-W', '2', '-s',
                         str(LARGE), target])

    # -- what is on a node ------------------------------------------------

    def ours(self, name):
        """What is there for egress addresses of the mode host: lines."""
        node, found = self.cloud[name], []
        for argv in _OURS:
            found += [line.strip() for line in node.out(
                'ip', *argv).splitlines() if _is_egress(line)]
        found += [line for line in node.out(
            'nft', 'list', 'tables').splitlines()
            if ownership.NFT_EGRESS in line]
        return found

    def has(self, name, address):
        """Whether a link of a node has an address."""
        return f' {address}/' in self.cloud[name].out(
            'ip', '-o', 'addr', 'show', 'dev', beyond.LINK)


def _is_egress(line):
    """Whether a rule, route or address is one of egress addresses."""
    words = line.split()
    priority = words[0].rstrip(':')
    tables = [word for before, word in zip(words, words[1:])
              if before in ('table', 'lookup')]
    return bool(
        priority.isdecimal() and
        int(priority) in ownership.EGRESS_PRIORITIES or
        any(table.isdecimal() and int(table) >= ownership.EGRESS_BACK_TABLE
            for table in tables) or
        any(f' {address}/' in line for address in (FIRM, FIRM6, NEVER)))


def _ask_until(target, source, timeout):
    """The sources that a host has seen, until it sees the wanted one."""
    family = socket.AF_INET6 if ':' in target else socket.AF_INET
    end, seen = time.monotonic() + timeout, ['']
    while seen[-1] != source and time.monotonic() < end:
        # Each question is a connection of its own.
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.settimeout(0.1)
            try:
                asking.sendto(b'?', (target, echo.PORT))
                told = asking.recv(100).split()[1].decode()
            except OSError as error:
                told = str(error)
        if told != seen[-1]:
            seen.append(told)
    return seen


def _large(target):
    """Bytes of a datagram that came back."""
    family = socket.AF_INET6 if ':' in target else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        asking.settimeout(5)
        asking.sendto(b'x' * LARGE, (target, echo.PORT))
        return asking.recv(65535).split(b' ')[0].count(b'x')
