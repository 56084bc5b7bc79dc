# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The text of a table says what its values say, and nothing else."""

import collections
import re

import hypothesis
from oslotest import base

from ovn_network_agent.drivers import port_forward
from ovn_network_agent.nft import elements
from ovn_network_agent.nft import rendering
from ovn_network_agent.nft import values
from ovn_network_agent.tests.unit.golden import many
from ovn_network_agent.tests.unit.nft import strategies

BLOCK = re.compile(r'\t(set|chain) ([a-z0-9_]+) \{\n(.*?)\n\t\}\n', re.DOTALL)
# What a rule says before and after its set or map, and what is in that.
LOOKUP = re.compile(r'\t\t([^\t\n]*?) \{\n((?:\t\t\t.*\n)+)\t\t\}(.*)')


def blocks(text):
    """dict of the name of a set or chain to what stands in it.

    :raises ValueError: when there is anything else
    """
    if BLOCK.sub('', text):
        raise ValueError(BLOCK.sub('', text))
    return {name: body for _kind, name, body in BLOCK.findall(text)}


def lookups(body):
    """list of (before, list of elements, after) of the rules of a chain."""
    return [(before, [line.strip().removesuffix(',')
                      for line in found.splitlines()], after.strip())
            for before, found, after in LOOKUP.findall(body + '\n')]


def translations(found):
    """{(VIP, protocol, port): {bucket: (destination, port)}}, as read."""
    result = {}
    for before, of, _after in lookups(found.get('prerouting_dnat', '')):
        for element in of:
            key, _colon, to = element.partition(' : ')
            if before.endswith('vmap'):
                [(words, ranges, _rest)] = lookups(
                    found[to.removeprefix('goto ')])
                size = int(re.search(r'saddr mod (\d+) seed', words)[1])
                owners = dict(_buckets(ranges))
                if sorted(owners) != list(range(size)):
                    raise ValueError(f'{ranges}')
            else:
                owners = {None: tuple(to.split(' . '))}
            result[tuple(key.split(' . '))] = owners
    return result


def _buckets(ranges):
    for element in ranges:
        of, _colon, to = element.partition(' : ')
        first, _dash, last = of.partition('-')
        for bucket in range(int(first), int(last or first) + 1):
            yield bucket, tuple(to.split(' . '))


def meant(service):
    """The same of a value."""
    owners = [(service.destinations[index].address, str(service.dest_port))
              for index, buckets in service.shares for _each in range(buckets)]
    if len(service.shares) == 1:
        return {None: owners[0]}
    return dict(enumerate(owners))


class RenderingTest(base.BaseTestCase):

    @hypothesis.given(strategies.tables())
    def test_who_gets_which_clients(self, table):
        self.assertEqual(
            {(vip.address, service.proto, str(service.port)): meant(service)
             for vip in table.vips for service in vip.services
             if service.shares},
            translations(blocks(rendering.text(table))))

    @hypothesis.given(strategies.tables())
    def test_whose_source_is_replaced(self, table):
        found = collections.defaultdict(set)
        for _before, of, after in lookups(
                blocks(rendering.text(table)).get('postrouting_snat', '')):
            found[after].update(of)
        name = table.family
        expected = {
            'masquerade': {
                f'{d.address} . {service.proto} . {service.dest_port}'
                for vip in table.vips for service in vip.services
                for d in service.destinations if service.masquerade},
            f'{name} saddr @provider_networks masquerade': {
                vip.address for vip in table.vips if vip.hairpin_masquerade},
            f'{name} saddr @snat_addresses masquerade': {
                vip.address for vip in table.vips if vip.router_masquerade}}
        self.assertEqual({key: of for key, of in expected.items() if of},
                         found)

    @hypothesis.given(strategies.tables())
    def test_one_zone(self, table):
        text = rendering.text(table)
        self.assertEqual({str(table.zone)},
                         set(re.findall(r'ct zone set (\d+)\n', text)))

    @hypothesis.given(strategies.tables())
    def test_nothing_of_a_vrf_without_one(self, table):
        found = blocks(rendering.text(table))
        for name in ('guarded', 'prerouting_fwmark', 'output_fwmark',
                     'forward_veth_guard', 'postrouting_fwmark_clear'):
            self.assertEqual(table.vrf, name in found)

    @hypothesis.given(strategies.tables())
    def test_targets_are_elements(self, table):
        for target in values.targets(table):
            self.assertEqual(' . '.join(map(str, target)),
                             elements.written(table.family, 'targets', target))

    def test_an_upgrade_changes_no_table(self):
        """The first renderer had these digests."""
        known = many.DIGESTS.read_text().split()
        self.assertEqual(known, [port_forward.wanted(*many.case(number)).digest
                                 for number in range(many.COUNT)])
