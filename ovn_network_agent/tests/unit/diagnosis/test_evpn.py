# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What explain says of a machine on a network with a VNI."""

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import gathering
from ovn_network_agent.diagnosis.address import ports
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.diagnosis.readers import evpn
from ovn_network_agent.diagnosis.readers import kernel
from ovn_network_agent.diagnosis.readers import packets
from ovn_network_agent.frr import evpn as frr_evpn
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import lookups
from ovn_network_agent.netlink.objects import vni_links
from ovn_network_agent.nft import filters
from ovn_network_agent.openflow import trace_text
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy
from ovn_network_agent.tests.unit.drivers import test_evpn

Verdict, Outcome = explained.Verdict, explained.Outcome
VNI, TABLE = 1001, test_evpn.TABLE
VRF, BRIDGE, VXLAN = 'vrf-1001', 'br-1001', 'vxlan-1001'
END, PORT = test_evpn.END, evpn_names.bridge_end(test_evpn.END)
RD, PEER = '10.0.100.11:1001', '10.0.100.1'
NAMES = (VRF, BRIDGE, VXLAN, END, PORT, 'vrf-provider')
EVERYTHING = {'vni', 'vni-devices', 'vni-port', 'mac-tweak-flow',
              'other-flows', 'vni-gateway', 'vni-rules', 'vni-neighbour',
              'vni-route', 'vni-zebra', 'redistribute', 'evpn-sessions',
              'evpn-route', 'vni-next-hops', 'vni-way-back'}


def case(address=test_evpn.ONE, network=None, binding=None, found=None,
         **options):
    """Facts of which everything is as it has to be.

    :param network: :class:`model.ProviderNetwork`
    :param binding: dict of further values of the :class:`ports.Port`
    :param found: dict of further values of the :class:`model.PortAddress`
    """
    conf = world.conf(drivers=['evpn'], evpn__local_ip='10.0.100.11',
                      **options)
    of, node = network or test_evpn.network(), cloud.node()
    machine = test_evpn.address(address, of, **(found or {}))
    about = subject.wanting(subject.Subject(
        address, subject.Kind.MACHINE, node, owner=cloud.HOSTNAME,
        binding=ports.Port(**{
            'name': 'vm-1', 'network': 'red', 'mac': test_evpn.MAC,
            'host': cloud.HOSTNAME, 'here': True, 'of': of,
            **(binding or {})}), found=machine, withheld=machine.withheld),
        [world.driver('evpn', conf)], of.uuid, node, of, machine)
    client = healthy.CLIENTS[6 if ':' in address else 4]
    setup = gathering.setup(conf, client)._replace(
        vrf=VRF, pair=False, method='kernel', prefix_list='')
    known = facts.Facts(setup, about, agent=healthy.RUNNING)
    if about.end is None:
        return known
    listed = (trace_text.Port('br-ex', 'br-ex', 65534, '1'),
              trace_text.Port(PORT, 'br-ex', 7, '5'),
              trace_text.Port('ex-int', 'br-ex', 3, '', 'int-ex'),
              trace_text.Port('int-ex', 'br-int', 4, '', 'ex-int'))
    segment, end = packets.met(about, listed)
    return known._replace(
        flows=healthy.flows_of(about),
        packet_traces=tuple(packets.PacketTrace(
            each, 'br-ex', 3, trace_text.Trace(
         (trace_text.Step('br-ex', 0, '', 0, 0, ('NORMAL',)),),
         ('br-ex', 'br-int') if each.inward else ('br-ex',),
         () if each.inward else ('5',)), listed, end.name)
            for each in packets.for_address(
         address, setup.client, segment, about.mac, port=end.port)),
        kernel=kernel_of(about), filters=filters.Found(),
        path=(True, True, ()), vni=vni_of(about))


def kernel_of(about):
    host = '/128' if ':' in about.address else '/32'
    return kernel.Kernel(
        {}, {END: tuple(each.address
                        for each in about.wanted_of(resources.Address))},
        {(END, about.address): (test_evpn.MAC, 'PERMANENT')},
        {each.path: each.value for each in about.wanted_of(resources.Sysctl)},
        healthy.rules_of(about, resources.VniRule), {},
        {'vrf': lookups.Lookup('', TABLE, about.address + host, END, None, 44),
         'out': lookups.Lookup('', TABLE, '203.0.113.0/24', BRIDGE,
                               '10.0.100.1', 186)},
        proxies=frozenset((each.dev, each.dst) for each
                          in about.wanted_of(resources.NeighbourProxy)))


def vni_of(about):
    wanted, = about.wanted_of(resources.VniDevices)
    index = {name: number for number, name in enumerate(NAMES, 2)}
    master = {BRIDGE: VRF, VXLAN: BRIDGE, END: VRF}
    found = {name: links.Link(
        index[name], name, {BRIDGE: wanted.mac,
                            END: about.end.mac}.get(name, ''), True, '',
        index.get(master.get(name), 0), 0, ownership.LINK_ALIAS,
        TABLE if name == VRF else 0) for name in NAMES}
    tunnel = vni_links.Tunnel(VNI, wanted.local, wanted.port,
                              index['vrf-provider'])
    details = {name: vni_links.Details(
        wanted.mtu, True, tunnel if name == VXLAN else None, name == VXLAN)
        for name in NAMES}
    return evpn.Vni(
        (found, details), ('br-ex', 201),
        {VNI: frr_evpn.State(VNI, VRF, True, wanted.mac)}, {VNI: RD},
        {about.prefix: (PEER,)}, (evpn.Session(PEER, 'Established', 4, 4),),
        (vni_links.Hop(VNI, '10.0.100.12'),))


def with_vni(known, **values):
    return known._replace(vni=known.vni._replace(**values))


def with_link(known, name, **values):
    """The same facts, with another state of a device, or without it."""
    found, details = known.vni.devices
    changed = {**found, name: found[name]._replace(**values)} if values else {
        each: link for each, link in found.items() if each != name}
    return with_vni(known, devices=(changed, details))


def with_details(known, name, **values):
    found, details = known.vni.devices
    return with_vni(known, devices=(found, {
        **details, name: details[name]._replace(**values)}))


class HereTest(explained.AddressTestCase):

    def test_each_layer(self):
        for address in test_evpn.ONE, test_evpn.SIX:
            for options in ({}, {'evpn__manage_frr': False}):
                found = self.assert_here(case(address, **options), *EVERYTHING)
                self.assertIn(f'{address} in VNI 1001: address of a machine',
                              found.text())
                self.assertEqual(VNI, found.json()['vni'])

    def test_what_it_says(self):
        known = case()
        for check, text in (
                ('vni', '1001, vrf-1001, imports 64999:1001, exports '
                 '64999:1001'),
                ('wanted', 'in VNI 1001'),
                ('vni-devices', f'table {TABLE}, br-1001 06:6f:'),
                ('vni-port', f'{PORT} on br-ex with tag 201'),
                ('vni-gateway', '192.168.50.1/32'),
                ('vni-zebra', 'VNI 1001 is up in vrf-1001'),
                ('redistribute', 'bgpd has 192.168.50.10/32'),
                ('evpn-route', f'{RD} to {PEER}'),
                ('vni-next-hops', '10.0.100.12'),
                ('vni-way-back', 'via 10.0.100.1 dev br-1001')):
            self.assertIn(text, self.evidence(known, check))

    def test_devices(self):
        known = case()
        for broken, text in (
                (with_link(known, VXLAN), 'there is no device vxlan-1001'),
                (with_link(known, BRIDGE, up=False), 'br-1001 is down'),
                (with_link(known, BRIDGE, master=0),
                 'br-1001 is not in vrf-1001'),
                (with_link(known, BRIDGE, mac='02:00:00:00:00:01'),
                 'has the MAC 02:00:00:00:00:01'),
                (with_link(known, VRF, vrf_table=5), 'has table 5'),
                (with_link(known, VXLAN, master=0), 'not in br-1001'),
                (with_details(known, VXLAN, mtu=1500), 'MTU of 1500'),
                (with_details(known, VXLAN, settled=False), 'learns'),
                (with_details(known, VXLAN, tunnel=vni_links.Tunnel(
                    VNI, '10.0.100.99', 4789)), 'another VNI, source'),
                (with_link(known, VRF, alias=''),
                 'vrf-1001 is not of the agent')):
            self.assert_broken('vni-devices', broken, text)

    def test_the_port(self):
        known = case()
        for broken, text in (
                (with_link(known, END), f'there is no device {END}'),
                (with_link(known, PORT, up=False), f'{PORT} is down'),
                (with_link(known, END, master=0), 'is not in vrf-1001'),
                (with_link(known, END, mac='02:00:00:00:00:01'), 'MAC 02:'),
                (with_vni(known, port=None), 'br-ex has no port'),
                (with_vni(known, port=('br-ex', 7)), 'with tag 201')):
            self.assert_broken('vni-port', broken, text)

    def test_the_kernel_and_the_switch(self):
        known = case()
        for check, broken in (
                ('mac-tweak-flow', known._replace(
                    flows=dict.fromkeys(known.flows, ()))),
                ('vni-gateway', healthy.with_kernel(known, addresses={})),
                ('vni-gateway', healthy.with_kernel(
                    known, sysctls=dict.fromkeys(known.kernel.sysctls, '0'))),
                ('vni-rules', healthy.with_kernel(known, rules=())),
                ('vni-neighbour', healthy.with_kernel(known, neighbours={})),
                ('vni-neighbour', healthy.with_kernel(known, neighbours={
                    (END, test_evpn.ONE): (test_evpn.MAC, 'STALE')})),
                ('vni-route', healthy.with_lookup(
                    known, 'vrf', **explained.NO_ROUTE)),
                ('vni-way-back', healthy.with_lookup(
                    known, 'out', **explained.NO_ROUTE))):
            self.assert_broken(check, broken)
        self.assertIn('leave by the main table', self.evidence(
            healthy.with_kernel(known, rules=()), 'vni-rules'))

    def test_the_client_of_an_example(self):
        """Nobody has such an address, so the lack of a route is no fault."""
        known = healthy.with_lookup(case(), 'out', **explained.NO_ROUTE)
        known = known._replace(setup=known.setup._replace(client='192.0.2.1'))
        self.assertIn('vni-way-back', self.found(known, Verdict.NOT_CHECKED))
        self.assertIs(Outcome.OK, self.outcome(known))

    def test_frr(self):
        known = case()
        for check, text, values in (
                ('vni-zebra', 'zebra has no VNI', {'states': {}}),
                ('vni-zebra', 'in vrf-red', {'states': {
                    VNI: frr_evpn.State(VNI, 'vrf-red', True, '')}}),
                ('vni-zebra', 'is down', {'states': {
                    VNI: frr_evpn.State(VNI, VRF, False, '')}}),
                ('vni-zebra', 'router MAC None', {'states': {
                    VNI: frr_evpn.State(VNI, VRF, True, 'None')}}),
                ('evpn-sessions', 'no BGP neighbour', {'sessions': ()}),
                ('evpn-sessions', 'Idle', {'sessions': (
                    evpn.Session(PEER, 'Idle'),)}),
                ('evpn-route', 'does not have VNI', {'rds': {}}),
                ('evpn-route', 'no type 5 route', {'routes': {}}),
                ('evpn-route', 'to no neighbour', {'routes': {
                    '192.168.50.10/32': ()}})):
            self.assert_broken(check, with_vni(known, **values), text)

    def test_the_route_is_not_in_bgp(self):
        for managed in True, False:
            known = case(evpn__manage_frr=managed)._replace(
                path=(False, False, ()))
            self.assert_broken('redistribute', known)
            self.assertEqual(managed, 'resync' in self.remedy(known))

    def test_a_black_hole(self):
        """zebra calls the VNI up all the same."""
        broken = with_vni(case(), hops=(
            vni_links.Hop(VNI, '10.0.100.12', 'neighbour'),
            vni_links.Hop(1002, '10.0.100.12', 'tunnel')))
        self.assert_broken('vni-next-hops', broken)
        self.assertEqual(
            'packets are lost that br-1001 sends to 10.0.100.12 (no '
            'neighbour)', self.evidence(broken, 'vni-next-hops'))

    def test_what_follows(self):
        self.assert_broken('vni-devices', with_vni(
            with_link(case(), VXLAN), states={}, routes={}))

    def test_unread(self):
        why = readers.Unread('no answer')
        known = with_vni(case(), devices=why, port=why, states=why, rds=why,
                         sessions=why, hops=why)
        self.assertEqual([], self.found(known, Verdict.BROKEN))
        self.assertLessEqual(
            {'vni-devices', 'vni-port', 'vni-zebra', 'evpn-sessions',
             'evpn-route', 'vni-next-hops'},
            {*self.found(known, Verdict.NOT_CHECKED)})


class NotInEvpnTest(explained.AddressTestCase):

    def test_a_vni_or_segment_that_cannot_be_used(self):
        self.assert_broken('segment', case(network=test_evpn.network(
            segment=cloud.segment(bridge='', device='', patch_port=None))))
        for vni in (model.Vni(0, problem='0 is not a VNI; use another one'),
                    model.Vni(VNI, problem='blue has it; use another one')):
            known = case(network=test_evpn.network(vni=vni))
            self.assert_broken('vni', known)
            self.assertEqual('use another one', self.remedy(known))

    def test_not_wanted(self):
        """In no subnet, and where another port has the address."""
        for known, words in (
                (case(network=test_evpn.network(networks=())),
                 'in no subnet'),
                (case(found={'claimed': 'port vm-2'}),
                 'port vm-2 has it, too')):
            self.assert_broken('wanted', known, words)
            self.assertIn('vni-devices', self.found(known, Verdict.OK))
            self.assertNotIn('vni-route', self.checks(known))

    def test_withheld(self):
        self.assertIs(Outcome.WITHHELD, self.outcome(
            case(found={'withheld': 'the row says so'})))

    def test_elsewhere(self):
        known = healthy.with_subject(case(), found=None, wanted=())
        binding = known.subject.binding._replace(here=False, host='gw2')
        known = healthy.with_subject(known, binding=binding, owner='gw2')
        found = explanation.explain(known._replace(vni=None))
        self.assertIs(Outcome.ELSEWHERE, found.outcome)
        self.assertEqual(VNI, found.vni)

    def test_the_driver_is_off(self):
        known = healthy.machine(binding={'unused': VNI})
        self.assertIn('VNI 1001 of the network does not count',
                      self.evidence(known, 'port'))

    def test_no_vni_while_only_vnis_count(self):
        port = ports.Port('vm-1', here=True)
        for driver, why in ((False, 'provider_port is off'),
                            (True, 'provider_port] networks')):
            self.assertIn(why, port.not_chosen(driver).left_out[0])
