# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whether both databases say the same about addresses that the view lacks.

For the withdrawal guard (:mod:`engine.guard`): an address may be gone by a
wish, or because a database was emptied, restored or is being filled.  Pure.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator

from ovn_network_agent.common import ip_text
from ovn_network_agent.common import wording
from ovn_network_agent.model import evpn_names
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn.subjects import prefixes
from ovn_network_agent.ovsdb.columns import Uuid


class CrossCheck:
    """Questions about addresses to the indexes of one view.

    :param confirmed: the subjects whose loss both servers have confirmed
    :param machines: are those on provider networks announced, without routers
    :param domain: VNI of a gateway port's network, 0 for the underlay
    """

    def __init__(self, index: indexes.Find, chassis: str,
                 confirmed: frozenset[str], machines: bool = False,
                 domain: Callable[[str], int] = lambda lrp: 0) -> None:
        self._index = index
        self._chassis = chassis
        self._machines = machines
        self._domain = domain
        self.confirmed = confirmed

    def elsewhere(self, subject: str) -> bool:
        """Whether a gateway port on another chassis has an address.

        Only its chassis knows where a distributed floating IP's machine is.

        :param subject: such as '198.51.100.10/32', :func:`evpn_names.subject`
        """
        return bool(self._owners(subject) - {'', self._chassis})

    @property
    def emptied(self) -> bool:
        """Whether NB has no router, and no network if machines count."""
        return not (len(self._index('nb', 'Logical_Router', 'port')) or
                    self._machines and
                    len(self._index('nb', 'Logical_Switch', 'uuid')))

    def doubts(self, subjects: Iterable[str]) -> Iterator[str]:
        """Why addresses not elsewhere may come back, each mid-sentence."""
        if self.emptied:
            yield 'the Northbound database has no router at all'
        without = self._without_router()
        if without:
            yield (f'the Southbound database has '
                   f'{wording.count(len(without), "gateway port")} on this '
                   'chassis that the Northbound database does not have')
        unbound = sum(1 for subject in subjects
                      if self._owners(subject) == {''})
        if unbound:
            yield ('the gateway ports of '
                   f'{wording.count(unbound, "address")} are on no chassis')

    def _without_router(self) -> set[str]:
        """Names of the ports here that no router in NB has."""
        bound = self._index('sb', 'Port_Binding', 'bound')
        redirect = self._index('sb', 'Port_Binding', 'redirect')
        by_name = self._index('nb', 'Logical_Router_Port', 'name')
        by_port = self._index('nb', 'Logical_Router', 'port')
        return {lrp for uuid in bound.find(self._chassis)
                for lrp in redirect.keys_of(uuid)
                if not any(map(by_port.find, by_name.find(lrp)))}

    def _owners(self, subject: str) -> set[str]:
        """The chassis of an address, '' for an unbound gateway; else empty."""
        domain, prefix = (evpn_names.vni_of_subject(subject),
                          evpn_names.prefix_of(subject))
        address = prefix.partition('/')[0]
        ports = set(self._index('nb', 'Logical_Router_Port',
                                'address').find(address))
        by_port = self._index('nb', 'Logical_Router', 'port')
        for router in (*self._routers_with(address),
                       *self._routers_before(prefix)):
            ports.update(by_port.keys_of(router))
        return {chassis for port in ports
                for chassis in self._chassis_of(port, domain)}

    def _routers_with(self, address: str) -> Iterator[Uuid]:
        """The routers that translate or balance an address."""
        for nat in self._index('nb', 'NAT', 'address').find(address):
            if self._index('nb', 'NAT', 'machine').keys_of(nat):
                continue
            yield from self._index('nb', 'Logical_Router', 'nat').find(nat)
        for balancer in self._index('nb', 'Load_Balancer',
                                    'address').find(address):
            yield from self._index('nb', 'Logical_Router',
                                   'balancer').find(balancer)
            for group in self._index('nb', 'Load_Balancer_Group',
                                     'balancer').find(balancer):
                yield from self._index('nb', 'Logical_Router',
                                       'group').find(group)

    def _routers_before(self, prefix: str) -> Iterator[Uuid]:
        """The routers of tenants' networks that a prefix overlaps with."""
        try:
            index = self._index('nb', 'Logical_Router_Port', 'network')
        except KeyError:
            return
        redirect = self._index('sb', 'Port_Binding', 'redirect')
        for port in index.find(prefixes.key(ip_text.network(prefix))):
            if not any(map(redirect.find, self._index(
                    'nb', 'Logical_Router_Port', 'name').keys_of(port))):
                yield from self._index('nb', 'Logical_Router',
                                       'port').find(port)

    def _chassis_of(self, port: Uuid, domain: int) -> Iterator[str]:
        """Names of a gateway port's chassis; none in another domain."""
        (lrp,) = self._index('nb', 'Logical_Router_Port',
                             'name').keys_of(port) or ('',)
        if self._domain(lrp) != domain:
            return
        redirect = self._index('sb', 'Port_Binding', 'redirect').find(lrp)
        bound = self._index('sb', 'Port_Binding', 'bound')
        for uuid in redirect:
            yield from bound.keys_of(uuid)
        if not redirect and any(
                self._index('nb', 'Logical_Router_Port', name).keys_of(port)
                for name in ('member', 'group')):
            yield ''
