# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Entries of a prefix list of FRR, and a backend that writes them."""

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.frr import frr_prefix_list
from ovn_network_agent.tests.functional.frr import base

FOREIGN = ('seq 7 permit 198.51.100.0/24 ge 25 le 32',
           'seq 9 deny 198.51.100.0/25 ge 32 le 32',
           'seq 11 permit 192.0.2.77/32',
           'seq 13 permit 203.0.113.0/24 le 32',
           # Of our shape, as for his own VIPs.
           'seq 15 permit 192.0.2.0/24 ge 32 le 32',
           'seq 400 permit any')


def entry(network='198.51.100.0/24'):
    return resources.PrefixListEntry(base.LIST, network)


def written(network='198.51.100.0/24', attempt=0):
    """The line of an entry that is ours."""
    length = 128 if ':' in network else 32
    number = ownership.prefix_list_numbers(network)[attempt]
    return f'seq {number} permit {network} ge {length} le {length}'


class PrefixListTestCase(base.FrrTestCase):

    def setUp(self):
        super().setUp()
        self.backend = frr_prefix_list.PrefixListBackend(self.conf)

    def read(self, *known):
        """What is found by one that wants or has had these."""
        return set(self.backend.read(frozenset(e.ref for e in known)))

    def create(self, *entries):
        return self.backend.apply(backends.Delta(create=entries))

    def delete(self, *entries):
        return self.backend.apply(backends.Delta(delete=entries))

    def shown(self, family='ip'):
        """Lines of the list in the running configuration, a list."""
        head = f'{family} prefix-list {base.LIST} '
        return [line.removeprefix(head) for line in self.frr.running()
                if line.startswith(head)]

    def line(self, *texts):
        self.frr.configure(*(f'ip prefix-list {base.LIST} {text}'
                             for text in texts))

    def foreign(self):
        self.line(*FOREIGN)
