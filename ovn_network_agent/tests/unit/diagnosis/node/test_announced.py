# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The checks of what is announced, on purpose not, twice, or with a tag."""

from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis.node.bgp import announced
from ovn_network_agent.tests.unit.diagnosis.node import base

ADDRESSES = tuple(ip_text.address(f'198.51.100.{number}')
                  for number in range(10, 18))


class AnnouncedTest(base.JudgeTestCase):

    def test_withheld(self):
        ok, warn, found = base.OK, base.WARN, announced.Withheld
        self.judged_each(
            announced.judge_withheld,
            (found(8, (), (), ()), ok, 'none of 8 addresses'),
            (found(0, (), (), ()), ok, 'none of 0 addresses'),
            (found(8, ((2, 'the row'), (1, 'an option')), (), ()), ok,
             '3 of 8 addresses not announced on purpose (2: the row; 1: an '
             'option)'),
            (found(8, ((8, 'an option'),), (), ()), warn, '8 of 8 addresses',
             '"ovn-network-agent-ctl addresses"'),
            # A name that two have, and names that nothing has.
            (found(8, (), (), (('include_routers', 'router', 'r9'),)),
             (warn, ok),
             'include_routers has r9, the name of several routers'),
            (found(8, (), (('include_routers', 'router', 'r9'),
                           ('exclude_networks', 'network', 'publik')), ()),
             (warn, warn, ok),
             '[announce] include_routers has r9, and OVN has no such router',
             '"openstack network list"'))

    def test_duplicates(self):
        def found(*several):
            return announced.Duplicates(len(ADDRESSES), several)

        self.judged_each(
            announced.judge_duplicates,
            (found(), base.OK, 'each of 8 addresses'),
            (found((ADDRESSES[0], ('office', 'shop'))), base.WARN,
             '198.51.100.10 is an address of the routers office, shop',
             '"ovn-network-agent-ctl explain 198.51.100.10"'),
            (found(*((each, ('a', 'b')) for each in ADDRESSES)),
             (base.WARN,) * 6, '3 more addresses'))

    def test_what_ovn_advertises(self):
        found = announced.Advertised
        self.judged_each(
            announced.judge_advertised, (found(False), base.OK, 'is off'),
            (found(True), base.WARN, '25.03'),
            (found(True, True, 2, 0), base.WARN,
             'dynamic-routing-redistribute'),
            *((found(True, True, *values), base.OK,
               f'{values[1]} routes for {values[0]} routers')
              for values in ((2, 5), (0, 0), (0, 3))))

    def test_tags(self):
        two = ((4400001, 3), (4400002, 1))
        self.judged_each(
            announced.judge_tags,
            (announced.Tags((), 'static', True), base.OK,
             'no route has a tag'),
            (announced.Tags(two[:1], 'static', True), base.OK,
             'tags of static routes: 4400001 (3 addresses)'),
            *((announced.Tags(two, method, False), base.WARN,
               f'"redistribute {method}" a route map',
               f'"match {match} 4400001"')
              for method, match in (('static', 'tag'), ('kernel', 'metric'))))
