# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whatever a view changes, the desired state is as if asked for afresh."""

import dataclasses

from hypothesis import settings as hypothesis
from hypothesis import stateful
from hypothesis import strategies
from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.conf import settings
from ovn_network_agent.model import port_forwards
from ovn_network_agent.runtime import loader
from ovn_network_agent.tests import budget
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import golden
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways
from ovn_network_agent.tests.unit.engine import wanting

NAMES = ('veth_leak', 'gateway_drain', 'port_forward')
ROUTERS = (1, 2, 3)
GATEWAY = '198.51.100.254'
# Those of the ports, of both networks, of none, and of another family.
ADDRESSES = ('198.51.100.1', '198.51.100.10', '198.51.100.11', '203.0.113.10',
             GATEWAY, '192.0.2.10', '2001:db8::10')
# logical_ip and external_mac are any text, so the last two are much alike.
NATS = [model.Nat(*values) for address in ADDRESSES for values in (
    ('dnat_and_snat', address, '10.0.0.5'), ('snat', address, '10.0.0.0/24'),
    ('dnat_and_snat', address, '10.0.0.5', 'fa:16:3e:00:00:09 '),
    ('dnat_and_snat', address, '10.0.0.5 fa:16:3e:00:00:09'))]
VLAN = cloud.segment(bridge='br-two', device='br-two.5', vlan=5,
                      physical_network='physnet2')
SEGMENTS = (cloud.segment(), cloud.segment(), VLAN, None,
            cloud.segment(patch_port=0), cloud.segment(mac=''))
PLACES = (
    {}, {}, {}, {'local': False, 'chassis': cloud.OTHER},
    {'local': False, 'chassis': ''},
    *({'local': False, 'chassis': cloud.OTHER, 'handover': handover,
       'relay': relay} for handover in (model.Handover.ANNOUNCE,
                                        model.Handover.FORWARD)
      for relay in (0, 9)))
PROVED = model.NbDefaultRoute(GATEWAY, 'lrp-1', True, cloud.OWNER,
                              cloud.HOSTNAME)
ROUTES = ((), (PROVED,), (PROVED._replace(advertised=''),),
          (PROVED._replace(owner=cloud.THEIRS, advertised='gw2'),),
          (model.NbDefaultRoute(GATEWAY, '', False),))
CHANGES = {
    'withheld': [(), *(((address, 'a word'),) for address in ADDRESSES[:4])],
    'routed_by_ovn': [False, False, True],
    'label': ['', 'public'],
    'problems': [(), ('NAT row x: malformed',)],
    'default_routes': ROUTES,
    'balanced': [(), *((model.BalancedAddress(*values),) for values in (
        ('198.51.100.10', True), ('198.51.100.20', True),
        ('198.51.100.20', False, 'a reason')))]}
NODES = {
    'hostname': [cloud.HOSTNAME, cloud.HOSTNAME, ''],
    'devices': [cloud.node().devices, cloud.node().devices[:1]],
    'phase': [model.Phase.RUNNING, model.Phase.RUNNING, model.Phase.DRAINING,
              model.Phase.STOPPED],
    'drains': [frozenset(), frozenset({model.ALL})]}
OPTIONS = {
    ('announce_method', 'fip_route'): ['static', 'kernel'],
    ('route_table_id', 'fip_route'): [0, 201],
    ('standby_prepare', 'fip_route'): [True, False],
    ('network_cidr', None): [[], ['198.51.100.0/24']],
    ('further_bridges', None): [[], ['br-two']],
    ('vrf_name', 'frr'): ['vrf-provider', '']}
FORWARDS = (None, port_forwards.Forwards((), True),
            port_forwards.Forwards((golden.vip(),), True),
            port_forwards.Forwards((golden.vip(router_masquerade=True),),
                                   True))


class PartsMachine(stateful.RuleBasedStateMachine):
    """A view changes by what is drawn; equal parts may be other objects."""

    def __init__(self):
        super().__init__()
        self.conf = worlds.conf(drivers=['fip_route', *NAMES])
        self.drivers = [
            worlds.driver('fip_route', self.conf, gateways.Counting),
            *(worlds.driver(name, self.conf) for name in NAMES)]
        self.wanted = wanting.Wanted(self.drivers)
        self.routers = {1: cloud.router(nats=tuple(NATS[4:6]))}
        self.standby = set()
        self.node = {}
        self.forwards = None

    def change(self, number, **values):
        before = self.routers.get(number) or cloud.router(number)
        self.routers[number] = dataclasses.replace(before, **values)

    @stateful.rule(number=strategies.sampled_from(ROUTERS),
                   nats=strategies.sets(strategies.sampled_from(NATS),
                                        max_size=5))
    def has_nats(self, number, nats):
        self.change(number, nats=tuple(sorted(nats, key=str)))

    @stateful.rule(number=strategies.sampled_from(ROUTERS),
                   nat=strategies.sampled_from(NATS))
    def one_nat(self, number, nat):
        before = self.routers.get(number) or cloud.router(number)
        self.change(number, nats=tuple(sorted({nat} ^ set(before.nats),
                                              key=str)))

    one_more = another = one_nat

    @stateful.rule(number=strategies.sampled_from(ROUTERS),
                   other=strategies.sampled_from(ROUTERS))
    def nats_move(self, number, other):
        if number in self.routers and number != other:
            self.change(other, nats=self.routers[number].nats)
            self.change(number, nats=())

    @stateful.rule(number=strategies.sampled_from(ROUTERS),
                   place=strategies.sampled_from(PLACES),
                   segment=strategies.sampled_from(SEGMENTS),
                   second=strategies.sampled_from((None, None, *PLACES)))
    def ports(self, number, place, segment, second):
        made = [cloud.port(number, segment=segment, **place)]
        if second is not None:
            made.append(cloud.port(number + 5, networks=(
                f'203.0.113.{number}/24',), **second))
        self.change(number, ports=tuple(made))

    @stateful.rule(number=strategies.sampled_from(ROUTERS),
                   change=strategies.sampled_from(sorted(CHANGES)),
                   data=strategies.data())
    def property(self, number, change, data):
        self.change(number, **{change: data.draw(
            strategies.sampled_from(CHANGES[change]))})

    another_property = property

    @stateful.rule(number=strategies.sampled_from(ROUTERS))
    def gone(self, number):
        self.routers.pop(number, None)

    @stateful.rule(number=strategies.sampled_from(ROUTERS))
    def copied(self, number):
        """As after a full view: equal, and of other objects."""
        if number in self.routers:
            self.change(number, nats=tuple(
                nat._replace()
                for nat in self.routers[number].nats))

    @stateful.rule(number=strategies.sampled_from(ROUTERS))
    def group(self, number):
        self.standby ^= {number}

    @stateful.rule(change=strategies.sampled_from(sorted(NODES)),
                   data=strategies.data())
    def node_changes(self, change, data):
        self.node[change] = data.draw(strategies.sampled_from(NODES[change]))

    @stateful.rule(forwards=strategies.sampled_from(FORWARDS))
    def rules(self, forwards):
        self.forwards = forwards

    @stateful.rule(option=strategies.sampled_from(sorted(OPTIONS, key=str)),
                   data=strategies.data())
    def reload(self, option, data):
        name, group = option
        self.conf.set_override(
            name, data.draw(strategies.sampled_from(OPTIONS[option])),
            group=group)
        asked = self.drivers[0].raises_for
        self.drivers = loader.renewed(self.drivers, settings.live(self.conf))
        self.drivers[0].raises_for = asked
        self.wanted.made.drivers = self.drivers

    @stateful.rule()
    def full(self):
        self.wanted.made.forget()

    @stateful.rule(what=strategies.sampled_from(
        [*ADDRESSES, *(cloud.router(number).uuid for number in ROUTERS)]))
    def bug(self, what):
        """A driver begins, or ends, to raise on one router or address."""
        self.drivers[0].raises_for ^= {what}

    @stateful.rule()
    def look(self):
        view = dataclasses.replace(cloud.snapshot(
            *self.routers.values(), groups=[
                cloud.group(self.routers[number]) for number in ROUTERS
                if number in self.standby and number in self.routers],
            **self.node), forwards=self.forwards)
        before = self.wanted.answers()
        found = self.wanted.after(view)
        if self.wanted.made.broken:
            assert self.drivers[0].raises_for
            self.keeps_its_answer(before)
            return
        # Nobody was asked about what the bug concerns.
        faulty, self.drivers[0].raises_for = self.drivers[0].raises_for, set()
        fresh = wanting.Wanted(self.drivers).after(view)
        for one, other in zip(fresh, found, strict=True):
            assert one == other, (one, other)
        self.drivers[0].raises_for = faulty

    look_again = look_once_more = look

    def keeps_its_answer(self, before):
        """A driver that raises withdraws nothing, nor does it add anything."""
        broken = self.wanted.made.broken
        for answers, other in ((before, self.wanted.answers()),
                               (self.wanted.answers(), before)):
            for name, answer in answers.items():
                assert name not in broken or answer == other.get(name)

    def teardown(self):
        self.drivers[0].raises_for.clear()
        self.look()


class PartsTest(base.BaseTestCase):

    def test_a_nat_row_that_comes_with_equal_ports_of_another_view(self):
        machine = PartsMachine()
        for _n in range(2):
            machine.ports(number=3, place={}, segment=SEGMENTS[0], second={})
            machine.look()
            # What is looked at next has both, the row and new ports.
            machine.has_nats(number=3, nats={NATS[0]})
        machine.look()

    def test_it_is_as_if_asked_for_afresh(self):
        stateful.run_state_machine_as_test(PartsMachine, settings=hypothesis(
            max_examples=budget.examples(40), stateful_step_count=30,
            deadline=None, database=None))
