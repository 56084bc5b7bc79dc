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

import dataclasses

from ovn_network_agent import networks
from ovn_network_agent import selection
from ovn_network_agent.ovn import advertised
from ovn_network_agent.ovn import directory
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn import words
from ovn_network_agent.ovsdb import columns

_SWITCH = 'logical-switch'


@dataclasses.dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome for one router.

    :ivar withheld: see :class:`model.Router`
    :ivar ports: tuple of :class:`model.GatewayPort` with their tags
    :ivar routed_by_ovn: whether the router is left to OVN
    :ivar problems: tuple of str: words of rows that cannot be read
    :ivar depends: frozenset of the UUIDs of the rows of provider networks
        that this was read from, of the UUIDs, text, of Logical_Switch rows,
        and of the UUID of the datapath whose advertised routes were read
    :ivar silent: whether neither a row nor an option says anything about an
        address, so that the outcome does not depend on the addresses
    """

    withheld: tuple = ()
    ports: tuple = ()
    routed_by_ovn: bool = False
    problems: tuple = ()
    depends: frozenset = frozenset()
    silent: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class _Network:
    """The provider network on the other side of a gateway port.

    :ivar said: :class:`words.Statement`
    :ivar names: frozenset of names, empty while the network is unknown
    :ivar depends: see :class:`Judgement`
    """

    said: words.Statement = words.Statement()
    names: frozenset = frozenset()
    depends: frozenset = frozenset()


class Withholding:
    """Judges the addresses and the ports of routers.

    :param find: function(database, table, name) that returns the
        :class:`indexes.Index` of that name
    :ivar selection: :class:`selection.Selection`; a new one counts for the
        routers that are judged afterwards
    :ivar has_advertised: whether SB has the table Advertised_Route, and the
        replica, too
    """

    def __init__(self, find):
        self._find = find
        self.selection = selection.Selection()
        self.has_advertised = False

    def _is_routed(self, router):
        return bool(self._find('nb', 'Logical_Router',
                               'routed').keys_of(router))

    def leaves(self):
        """Whether the routers that OVN routes are left to OVN."""
        return not (self.has_advertised and self.selection.advertised_routes)

    def judge(self, bindings, row, ports, addresses):
        """Judge all addresses of a router.

        :param bindings: dict of UUID to row of Port_Binding
        :param row: Logical_Router
        :param ports: tuple of :class:`model.GatewayPort` of the router
        :param addresses: iterable of the addresses that do not belong to a
            port alone, IP addresses, text
        :returns: :class:`Judgement`
        """
        own, problems = self._speaking(row)
        router = self._said('Logical_Router', row.uuid)
        places = {port.lrp: self._network(bindings, port.lrp)
                  for port in ports}
        for said in (router, *(each.said for each in places.values())):
            problems += said.problems
        withheld, by_ovn = (), None
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
            frozenset().union(by_ovn.datapaths if by_ovn else (), *(
                each.depends for each in places.values())), silent)

    def _withheld(self, own, router, names, by_ovn, placed):
        """The withheld addresses of a router with the reasons.

        :param own: dict of address to :class:`words.Statement`
        :param router: words of the router
        :param names: names of the router
        :param by_ovn: :class:`advertised.Advertised`, or None for a router
            that OVN does not route
        :param placed: iterable of (address, :class:`_Network`)
        """
        for address, network in placed:
            about = own.get(address, words.Statement())
            reason = self.selection.objection(selection.Subject(
                address, about.own, router, network.said.own, about.native,
                names, network.names,
                by_ovn.objection(address) if by_ovn else ''))
            if reason:
                yield address, reason

    def _tagged(self, port, router, names, network):
        """A port with the tag of its routes.

        :param router: tags of the router
        :param names: names of the router
        :param network: :class:`_Network` of the port
        :returns: :class:`model.GatewayPort`, the same without a tag
        """
        tag = self.selection.tag(router, network.said.tags, names,
                                 network.names).number
        return dataclasses.replace(port, tag=tag) if tag else port

    def _speaking(self, row):
        """The rows of single addresses.

        :returns: (dict of address to :class:`words.Statement`; tuple of
            problems)
        """
        found, problems = {}, ()
        for table, uuids in (
                ('NAT', columns.referenced(row, 'nat')),
                ('Load_Balancer', rows.load_balancers(row)[0]),
                ('Logical_Router_Port', columns.referenced(row, 'ports'))):
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

    def _said(self, table, key):
        """The :class:`words.Statement` of a row."""
        return next(iter(self._find('nb', table, 'words').keys_of(key)),
                    words.Statement())

    def _network(self, bindings, lrp):
        """The :class:`_Network` of a gateway port."""
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


def _owners(ports, addresses):
    """The gateway port of each address of a router.

    :returns: dict of address to the name of the port; empty without a port
    """
    if not ports:
        return {}
    found = {address: networks.owner(address, ports).lrp
             for address in addresses}
    for port in ports:
        for text in port.networks:
            found[str(networks.parse_interface(text).ip)] = port.lrp
        found.update(dict.fromkeys(port.nat_addresses, port.lrp))
    return found
