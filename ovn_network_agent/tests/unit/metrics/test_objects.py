# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.engine import tracking
from ovn_network_agent.metrics import collection
from ovn_network_agent.tests import budget


def made(number, cookie):
    """A resource that counts, or one that does not."""
    prefix = f'198.51.100.{number % 3:d}/32'
    return (resources.Announcement('', prefix, 'br-ex'),
            resources.AnnouncedRoute(254, prefix, 'br-ex'),
            resources.KernelRoute(254, prefix, 'br-ex'),
            resources.Flow('br-ex', cookie, 910, 3, 4, prefix),
            resources.VniRoute(1001, prefix, 'vrf-1', vni=number % 2 + 1),
            resources.VniDevices(number % 3, 1001, '', '', 4789, 1450),
            resources.EvpnInstance(number % 3, 65011, ''))[number % 7]


def some(gauges):
    """Without the numbers of drivers that want nothing any more."""
    return {**gauges, 'announcements': {
        labels: number for labels, number in gauges['announcements'].items()
        if number}}


class ObjectsTest(base.BaseTestCase):

    @hypothesis.settings(max_examples=budget.examples(100), deadline=None,
                         database=None)
    @hypothesis.given(strategies.lists(strategies.tuples(
        strategies.sampled_from(
            ['want', 'unwant', 'found', 'removed', 'look']),
        strategies.integers(0, 20), strategies.sampled_from([
            ownership.COOKIE_HAIRPIN, ownership.COOKIE_MAC_TWEAK]))))
    def test_it_equals_a_count_of_all(self, steps):
        tracker, kept = tracking.Tracker(), collection.Objects()
        for verb, number, cookie in (*steps, ('look', 0, 0)):
            resource = made(number, cookie)
            if verb in ('want', 'found'):
                getattr(tracker, verb)(resource)
            elif verb != 'look':
                getattr(tracker, verb)(resource.ref)
            else:
                kept.count(tracker, tracker.take_changed())
                fresh = collection.Objects()
                fresh.count_all(tracker)
                self.assertEqual(some(fresh.gauges), some(kept.gauges))
                devices = tracker.wanted(['vni_devices'])
                self.assertEqual(
                    (len(devices), sum(tracker.in_sync(each.ref)
                                       for each in devices)),
                    tuple(kept.gauges[name]['devices',]
                          for name in ('vnis_desired', 'vnis_installed')))
                wanted = tracker.wanted(['announcement', 'announced_route',
                                         'vni_route'])
                self.assertEqual(len({r.subject for r in wanted}),
                                 kept.gauges['desired_ips'])
                self.assertEqual(
                    len({r.subject for r in wanted if tracker.in_sync(r.ref)}),
                    kept.gauges['announced_ips'])
                self.assertEqual(kept.gauges['desired_ips'], sum(
                    kept.gauges['announcements'].values()))

    def test_by_driver(self):
        tracker, kept = tracking.Tracker(), collection.Objects()
        state = tracking.DesiredState(tracker)
        one, other = (resources.Announcement('', prefix, 'br-ex')
                      for prefix in ('198.51.100.9/32', '10.0.0.0/24'))

        def counted():
            kept.count(tracker, tracker.take_changed())
            return {labels: number for labels, number
                    in kept.gauges['announcements'].items() if number}
        state.contribute(('fip_route', 'r1', ''), [one])
        state.contribute(('tenant_network', 'r1', ''), [one, other])
        tracker.found(one)
        self.assertEqual({('fip_route', 'announced'): 1,
                          ('tenant_network', 'missing'): 1}, counted())
        state.contribute(('tenant_network', 'r1', ''), ())
        self.assertEqual({('fip_route', 'announced'): 1}, counted())
        self.assertEqual(0, kept.gauges['announcements'][
            'tenant_network', 'missing'])
