# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Ways through a VIP: who reaches which backend, and as whom."""

import collections
import socket
import time

from lab import dump
from lab import echo
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import crowd
from ovn_network_agent.tests.lab import forwarding as pf

# Clients of which one backend after the other is asked.
_CROWD = pf.clients(1000)
_KINDS = ('tcp', 'udp')


class Paths:
    """Tests; see :mod:`ovn_network_agent.tests.lab.forwarding`."""

    # -- from outside -----------------------------------------------------

    def test_client_to_vip(self):
        """Local and remote backends, and the address that they see.

        Rows PF-20, PF-21 and PF-15; two VIPs at once; the port is another at
        the backend, but for the last one.
        """
        for address, port, wanted in (
                (pf.PLAIN, 80, (pf.LOCAL, plan.CLIENT)),
                (pf.PLAIN, 81, (pf.REMOTE, plan.CLIENT)),
                (pf.PLAIN, 82, (pf.MASQUERADED, pf.LOCAL)),
                (pf.PLAIN, echo.PORT, (pf.REMOTE, plan.CLIENT)),
                (pf.HAIRPIN, 80, (pf.LOCAL, plan.CLIENT)),
                (pf.HAIRPIN, 81, (pf.REMOTE, plan.CLIENT))):
            for kind in _KINDS:
                with self.subTest(vip=address, port=port, kind=kind):
                    self.assertEqual(wanted, self.asked(address, port, kind))

    def test_client_to_vip_over_ipv6(self):
        """The same over IPv6, with a table of its own."""
        for port, wanted in (
                (80, (pf.LOCAL6, plan.CLIENT6)),
                (81, (pf.REMOTE6, plan.CLIENT6)),
                (82, (pf.MASQUERADED6, pf.LOCAL6))):
            for kind in _KINDS:
                with self.subTest(port=port, kind=kind):
                    self.assertEqual(wanted,
                                     self.asked(pf.PLAIN6, port, kind))
        self.assertIn(plan.uplink6('gw1')[1], str(
            self.cloud['spine'].out('vtysh', '-c',
                                    f'show bgp ipv6 unicast {pf.PLAIN6}/128')))

    def test_no_flow_is_about_a_vip(self):
        """Row OVS-03: the bridge has flows of the router alone."""
        flows = self.cloud['gw1'].out('ovs-ofctl', 'dump-flows', plan.BRIDGE)
        self.assertIn(self.fip.address, flows)
        for one in pf.VIPS:
            self.assertNotIn(one['vip'], flows)

    def test_replies_leave_through_the_pair(self):
        """Each reply crosses the pair once (trap T60), and the VRF.

        Nothing of it leaves on the management side: that the sink counts,
        after each test.
        """
        for port in (80, 81):
            before = [self.transmitted('gw1', device) for device in
                      ('veth-default', 'veth-provider', 'eth1')]
            probe.ping(self.client, pf.PLAIN, 100, 0.005, 'udp', port=port)
            pair, back, uplink = (
                self.transmitted('gw1', device) - earlier for device, earlier
                in zip(('veth-default', 'veth-provider', 'eth1'), before))
            self.assertGreaterEqual(pair, 100)
            # Other traffic of a moment, BGP and neighbours.
            self.assertLess(pair, 120)
            self.assertLess(back, 20)
            self.assertGreaterEqual(uplink, 100)

    def test_answers_without_a_way_back_are_dropped(self):
        """Row PFT-13: not even one leaves by the management network.

        Somebody deletes the address of the pair's end, and the routes of
        IPv6.  The agent does nothing at first, so that many answers miss
        their way.
        """
        gw1, agent = self.cloud['gw1'], self.cloud.agents['gw1']
        before, usual = self.cloud.sink.leaked(), self.state('gw1')
        running = [self.running_probe(*where) for where in (
            (pf.PLAIN, 80), (pf.PLAIN, 81), (pf.PLAIN6, 80), (pf.PLAIN6, 81))]
        for one in running:
            self.addCleanup(one.__exit__)
            one.start()
        agent.freeze()
        self.addCleanup(agent.thaw)
        gw1.batch('addr del 169.254.0.1/30 dev veth-default\n')
        gw1.run(['ip', '-6', 'route', 'del', 'default', 'table', '201'])
        for one in running:
            nodes.wait_until('many answers are missing', lambda one=one: (
                one.report().lost > 10), base.SETTLE)
        agent.thaw()
        began = time.monotonic()
        for one in running:
            one.wait_answered(base.SETTLE, after=began)
        base.note('the way back of answers: repaired after '
                  f'{time.monotonic() - began:.2f} s')
        for one in running:
            base.note(f'meanwhile: {one.stop()}')
        nodes.wait_until('all is as before', lambda: not dump.difference(
            usual, self.state('gw1')), base.SETTLE)
        self.assertEqual(before, self.cloud.sink.leaked())

    def test_answers_outside_of_the_vrf_are_dropped(self):
        """Row PFT-14: as if the VRF were gone, of which the pair has an end.

        The agent does nothing at first, so that many answers come out of the
        pair in the default VRF.
        """
        gw1, agent = self.cloud['gw1'], self.cloud.agents['gw1']
        before, usual = self.cloud.sink.leaked(), self.state('gw1')
        running = [self.running_probe(*where) for where in (
            (pf.PLAIN, 81), (pf.PLAIN6, 81))]
        for one in running:
            self.addCleanup(one.__exit__)
            one.start()
        agent.freeze()
        self.addCleanup(agent.thaw)
        gw1.batch('link set veth-provider nomaster\n')
        for one in running:
            nodes.wait_until('many answers are missing', lambda one=one: (
                one.report().lost > 10), base.SETTLE)
        agent.thaw()
        began = time.monotonic()
        for one in running:
            one.wait_answered(base.SETTLE, after=began)
            base.note(f'meanwhile: {one.stop()}')
        nodes.wait_until('all is as before', lambda: not dump.difference(
            usual, self.state('gw1')), base.SETTLE)
        self.assertEqual(before, self.cloud.sink.leaked())

    def test_large_answers_through_a_small_mtu(self):
        """A client behind a smaller MTU gets all of a large answer.

        The router there says so to the VIP, and the backend has to hear it.
        """
        spine = self.cloud['spine']
        spine.batch('link set to-client mtu 1300\n')
        self.addCleanup(spine.batch, 'link set to-client mtu 1500\n')
        self.fetch_from_all()

    def test_large_answers_through_a_small_uplink(self):
        """The same where gw1 itself has to say so."""
        gw1 = self.cloud['gw1']
        gw1.batch('link set eth1 mtu 1300\n')
        self.addCleanup(gw1.batch, 'link set eth1 mtu 1500\n')
        self.fetch_from_all()

    def fetch_from_all(self):
        """A large answer from each kind of destination, over both families.

        The destination on the node comes first: with IPv6, the node then
        remembers the MTU, and forwards the other answers by it.
        """
        self.forget_mtus()
        self.addCleanup(self.forget_mtus)
        for address in (pf.PLAIN, pf.PLAIN6):
            for port in (80, 81, 82):
                self.assertGreater(self.client.call(_fetch, address, port),
                                   10 ** 5, f'{address} port {port}')

    def forget_mtus(self):
        """Nobody remembers the MTU of a way."""
        for name in ('gw1', 'backend', 'spine'):
            for family in '-4', '-6':
                self.cloud[name].run(['ip', family, 'route', 'flush',
                                      'cache'])

    # -- several backends -------------------------------------------------

    def test_a_client_has_one_backend_and_they_are_spread(self):
        """1,000 clients over three backends (PF-06, PF-07).

        The shares are within 15 % of even, and each client has the same
        backend after the table was made anew, for other VIPs.
        """
        first = self._shares(pf.MANY)
        clients = sorted(collections.Counter(first.values()).items())
        base.note(f'1,000 clients by jhash: {clients}')
        self.assertEqual(first, self._shares(pf.MANY))
        self.other_rules('gw1', [*pf.VIPS, pf.vip(
            pf.OTHER, pf.both(80, pf.REMOTE))])
        self.asked(pf.OTHER, 80)
        self.assertEqual(first, self._shares(pf.MANY))
        for source in _CROWD[:3]:
            self.assertEqual(first[source], self.asked(
                pf.MANY, 80, 'tcp', source=source)[0])

    def _shares(self, address, backends=3, tolerance=0.15):
        """Who answers each of 1,000 clients; each is seen as itself."""
        answers = crowd.ask(self.client, address, _CROWD, 80)
        for source, (seen, _backend) in answers.items():
            self.assertEqual(source, seen)
        shares = collections.Counter(
            backend for _seen, backend in answers.values())
        self.assertEqual(backends, len(shares), shares)
        even = len(_CROWD) / backends
        for count in shares.values():
            self.assertLess(abs(count - even), even * tolerance, shares)
        return {source: backend
                for source, (_seen, backend) in answers.items()}

    def test_consistent_balance_remaps_the_share_of_one(self):
        """With one of three backends gone, a third of the clients moves.

        The others keep theirs, but for a few that fill the gaps; with jhash,
        the negative control, many of them do not.
        """
        strays = {}
        for balance in ('jhash', 'consistent'):
            self.balance('gw1', balance)
            self._three(pf.SEVERAL)
            before = self._shares(pf.MANY)
            self._three(pf.SEVERAL[1:])
            after = self._shares(pf.MANY, 2)
            moved = {source for source in before
                     if before[source] != after[source]}
            strays[balance] = len([source for source in moved
                                   if before[source] != pf.SEVERAL[0]])
            base.note(f'{balance}, one of three backends removed: '
                      f'{len(moved)} of 1,000 clients move, '
                      f'{strays[balance]:d} of them from another one')
        self.assertLess(len(moved), 1000 / 3 * 1.15)
        self.assertLess(strays['consistent'], 50)
        self.assertGreater(strays['jhash'], 100)

    def _three(self, backends):
        self.other_rules('gw1', [one if one['vip'] != pf.MANY else pf.vip(
            pf.MANY, pf.both(80, *backends)) for one in pf.VIPS])
        nodes.wait_until('the table has these backends', lambda: {
            b for b in pf.SEVERAL if b + ' ' in self.table()
        } == set(backends), base.SETTLE)

    # -- machines in the cloud --------------------------------------------

    def test_floating_ip_on_the_same_node(self):
        """Row PF-22: with hairpin_masquerade, and not without; also ICMP."""
        machine = self.vm.node
        for kind in _KINDS:
            with self.subTest(kind=kind):
                self.assertEqual(
                    (pf.REMOTE, pf.LOCAL),
                    self.asked(pf.HAIRPIN, 81, kind, machine))
                # One on the node itself needs nothing of it.
                self.assertEqual(
                    (pf.LOCAL, self.fip.address),
                    self.asked(pf.HAIRPIN, 80, kind, machine))
                # Negative control: the answers miss this node.
                for address in (pf.PLAIN, pf.ROUTER):
                    self.silent(address, 81, kind, machine)
        for address in (pf.PLAIN, pf.HAIRPIN):
            report = probe.ping(machine, address)
            self.assertEqual(0, report.lost, str(report))

    def test_machine_behind_a_router_without_floating_ip(self):
        """Row PF-30: with router_masquerade, and not without."""
        machine = self.inner.node
        for kind in _KINDS:
            with self.subTest(kind=kind):
                self.assertEqual(
                    (pf.REMOTE, pf.LOCAL),
                    self.asked(pf.ROUTER, 81, kind, machine))
                self.silent(pf.PLAIN, 81, kind, machine)


def _fetch(address, port):
    """Have the responder send a lot; returns how many bytes came.

    It sends each line back, in packets of full size.
    """
    line = b'+' + b'x' * 3000 + b'\n'
    with socket.create_connection((address, port), 10) as one:
        one.settimeout(10)
        total = 0
        for number in range(1, 41):
            one.sendall(line)
            while total < number * len(line):
                total += len(one.recv(65536))
        return total
