# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What rows and options say about the announcements of a router.  Pure.

The addresses that are not announced on purpose, and the tags of the routes.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses

from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import selection
from ovn_network_agent.ovn import advertised
from ovn_network_agent.ovn import directory
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn import words
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Uuid

_SWITCH = 'logical-switch'


@dataclasses.dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome for one router."""

    # See model.Router.
    withheld: tuple[tuple[str, str], ...] = ()
    # With their tags.
    ports: tuple[model.GatewayPort, ...] = ()
    # Whether the router is left to OVN.
    routed_by_ovn: bool = False
    # Words of rows that cannot be read.
    problems: tuple[str, ...] = ()
    # The rows of provider networks that this was read from, Logical_Switch
    # rows by the text of their UUIDs, and the datapath whose advertised routes
    # were read.
    depends: frozenset[Uuid] = frozenset()
    # Whether neither a row nor an option says anything about an address, so
    # that the outcome does not depend on the addresses.
    silent: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class _Network:
    """The provider network on the other side of a gateway port."""

    said: words.Statement = words.Statement()
    # Empty while the network is unknown.
    names: frozenset[str] = frozenset()
    # See Judgement.
    depends: frozenset[Uuid] = frozenset()


class Withholding:
    """Judges the addresses and the ports of routers."""

    def __init__(self, find: indexes.Find) -> None:
        self._find = find
        # A new one counts for the routers that are judged afterwards.
        self.selection = selection.Selection()
        # Whether SB and the replica have the table Advertised_Route.
        self.has_advertised = False

    def _is_routed(self, router: Uuid) -> bool:
        return bool(self._find('nb', 'Logical_Router',
                               'routed').keys_of(router))

    def leaves(self) -> bool:
        """Whether the routers that OVN routes are left to OVN."""
        return not (self.has_advertised and self.selection.advertised_routes)

    def judge(self, bindings: indexes.Bindings, row: Row,
              ports: tuple[model.GatewayPort, ...],
              addresses: Iterable[str]) -> Judgement:
        """Judge all addresses of a router.

        :param addresses: those that do not belong to a port alone
        """
        own, problems = self._speaking(row)
        router = self._said('Logical_Router', row.uuid)
        places = {port.lrp: self._network(bindings, port.lrp)
                  for port in ports}
        for said in (router, *(each.said for each in places.values())):
            problems += said.problems
        withheld: Iterable[tuple[str, str]] = ()
        by_ovn = None
        routed = self._is_routed(row.uuid)
        if routed and self.selection.advertised_routes:
            if self.has_advertised:
                by_ovn = advertised.Advertised(self._find, bindings, ports)
            else:
                problems += (
                    f'router {row.name}: it is left to OVN in spite of '
                    '[announce] advertised_routes, because OVN SB has no '
                    'table Advertised_Route; upgrade OVN to 25.03 or later, '
                    'or set the option to false',)
        silent = not (own or router.own or router.tags or
                      self.selection != selection.Selection() or
                      any(each.said.own or each.said.tags
                          for each in places.values()))
        if not silent:
            names = selection.names(
                directory.NEUTRON_PREFIX, str(row.uuid), row.name,
                directory.neutron_name(row))
            withheld = self._withheld(
                own, router.own, names, by_ovn,
                ((address, places[lrp]) for address, lrp
                 in sorted(_owners(ports, addresses).items())))
            ports = tuple(self._tagged(port, router.tags, names,
                                       places[port.lrp]) for port in ports)
        return Judgement(
            tuple(withheld), ports, routed and self.leaves(),
            tuple(dict.fromkeys(problems)),
            frozenset[Uuid]().union(by_ovn.datapaths if by_ovn else (), *(
                each.depends for each in places.values())), silent)

    def _withheld(self, own: dict[str, words.Statement],
                  router: tuple[selection.Word, ...], names: frozenset[str],
                  by_ovn: advertised.Advertised | None,
                  placed: Iterable[tuple[str, _Network]]
                  ) -> Iterator[tuple[str, str]]:
        """The withheld addresses of a router with the reasons.

        :param own: the statements about single addresses
        :param router: words of the router
        :param names: likewise
        :param by_ovn: None for a router that OVN does not route
        """
        for address, network in placed:
            about = own.get(address, words.Statement())
            reason = self.selection.objection(selection.Subject(
                address, about.own, router, network.said.own, about.native,
                names, network.names,
                by_ovn.objection(address) if by_ovn else ''))
            if reason:
                yield address, reason

    def _tagged(self, port: model.GatewayPort,
                router: tuple[selection.Tag, ...], names: frozenset[str],
                network: _Network) -> model.GatewayPort:
        """A port with the tag of its routes; the same port without a tag.

        :param router: tags of the router
        :param names: likewise
        """
        tag = self.selection.tag(router, network.said.tags, names,
                                 network.names).number
        return dataclasses.replace(port, tag=tag) if tag else port

    def _speaking(self, row: Row) -> tuple[
            dict[str, words.Statement], tuple[str, ...]]:
        """What the rows of single addresses say, and the problems."""
        found: dict[str, words.Statement] = {}
        problems: tuple[str, ...] = ()
        tables: tuple[tuple[str, Iterable[Uuid]], ...] = (
            ('NAT', columns.referenced(row, 'nat')),
            ('Load_Balancer', rows.load_balancers(row)[0]),
            ('Logical_Router_Port', columns.referenced(row, 'ports')))
        for table, uuids in tables:
            said = self._find('nb', table, 'words')
            if not said.keys():
                # The common case does not look at ten thousand rows.
                continue
            for each in uuids:
                for part in said.keys_of(each):
                    problems += part.problems
                    for address in self._find('nb', table,
                                              'address').keys_of(each):
                        found[address] = found.get(
                            address, words.Statement()) + part
        return found, problems

    def _said(self, table: str, key: Uuid) -> words.Statement:
        """The statement of a row."""
        return next(iter(self._find('nb', table, 'words').keys_of(key)),
                    words.Statement())

    def _network(self, bindings: indexes.Bindings, lrp: str) -> _Network:
        """The provider network of a gateway port."""
        patch = self._find('sb', 'Port_Binding', 'peer').first(lrp)
        if patch is None:
            return _Network()
        datapath = bindings[patch].datapath
        depends = {patch, datapath.uuid}
        text = columns.entry(datapath, 'external_ids', _SWITCH)
        if text is None:
            return _Network(depends=frozenset(depends))
        # The row may follow, because NB and SB are two servers.
        switch = self._find('nb', 'Logical_Switch', 'uuid').first(text)
        names = self._find('nb', 'Logical_Switch', 'names').keys_of(switch)
        return _Network(self._said('Logical_Switch', switch),
                        frozenset(names), frozenset({*depends, text}))


def _owners(ports: Sequence[model.GatewayPort],
            addresses: Iterable[str]) -> dict[str, str]:
    """The name of the gateway port by address; empty without a port."""
    if not ports:
        return {}
    found = {address: networks.owner(address, ports).lrp
             for address in addresses}
    for port in ports:
        for interface in map(networks.parse_interface, port.networks):
            if interface is not None:
                found[str(interface.ip)] = port.lrp
        found.update(dict.fromkeys(port.nat_addresses, port.lrp))
    return found
