# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A small OVN NB with routers that peer, in rows of python-ovs."""

import textwrap
import types
import uuid

from ovn_network_agent import ownership
from ovn_network_agent.ovn.peering import peer_intents
from ovn_network_agent.ovn.peering import peer_routers
from ovn_network_agent.ovn.peering import peering_rows
from ovn_network_agent.ovn.peering import peerings
from ovn_network_agent.tests.unit.ovn import atoms

TARGET, EXPORT, IMPORT = (ownership.EXT_ID_PEER_TARGET,
                          ownership.EXT_ID_PEER_EXPORT,
                          ownership.EXT_ID_PEER_IMPORT)
FILE = '/etc/peers.yaml'


def key(number):
    """The UUID of a row with a number."""
    return uuid.UUID(int=number)


def marks(one, other):
    """external_ids of the rows of a peering, by numbers of routers."""
    return {ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
            ownership.EXT_ID_PEER: ownership.peer_pair(
                str(key(one)), str(key(other)))}


class Cloud(atoms.Tables):
    """Routers r1, r2, ... with a network each, and the source of peerings."""

    def __init__(self):
        # By number of a router, its external_ids and its options.
        self.words = {}
        self.options = {}
        self.peers = types.SimpleNamespace(rows={}, reasons=())
        super().__init__(peerings.Peerings(),
                         {peer_intents.TABLE: self.peers})

    def file(self, text):
        """Another content of the file of peerings."""
        self.peers.rows = peer_intents.parse(
            textwrap.dedent(text).encode(), FILE).rows

    def put(self, table, number, **columns):
        """A new or changed row; without columns, one that is gone."""
        self.set(table, key(number), columns)

    def port(self, number, *nets, **columns):
        self.put('Logical_Router_Port', number, **{
            'name': f'lrp-{number}', 'mac': 'fa:16:3e:00:{:02x}:{:02x}'.format(
                *divmod(number & 0xffff, 256)),
            'networks': list(nets), 'external_ids': {}, **columns})

    def route(self, number, prefix, nexthop, *, columns=None, **external_ids):
        self.put('Logical_Router_Static_Route', number, ip_prefix=prefix,
                 nexthop=nexthop, external_ids=external_ids, **(columns or {}))

    def rows(self, one, other, *prefixes, name='', marked=True):
        """The rows of a router to another one, which it does not refer to.

        :param name: of the peering at the router, for its address set
        :returns: number of the port, and those of the routes
        """
        words = marks(one, other) if marked else {}
        port = peering_rows.port_name(str(key(one)), str(key(other)))
        first = 100000 * one + 100 * other
        self.port(first, name=port, peer='x', external_ids=words)
        routes = range(first, first + len(prefixes))
        for number, prefix in zip(routes, prefixes, strict=True):
            self.route(number, prefix, '192.0.2.1',
                       columns={'output_port': port}, **words)
        if name:
            self.put('Address_Set', first, external_ids=words,
                     name=peer_routers.set_name(str(key(one)), name, 4))
        return first, [*routes]

    def router(self, number, *nets, routes=(), uplink=(), label=None,
               options=None, **words):
        """Router r<number>, whose ports are 100 * number and 100 * number + 1.

        :param nets: networks of its internal port
        :param options: its options
        :param words: peers as name=number of the router
        """
        inner, outer = 100 * number, 100 * number + 1
        self.port(inner, *nets)
        self.port(outer, *uplink, gateway_chassis=[key(9)])
        self.words.setdefault(number, {}).update(
            {TARGET + name: str(key(of)) for name, of in words.items()})
        self.options.setdefault(number, {}).update(options or {})
        self.put('Logical_Router', number,
                 options=self.options[number],
                 name=f'neutron-{key(number + 5000)}',
                 ports=[key(inner), key(outer)] if uplink else [key(inner)],
                 static_routes=[key(each) for each in routes],
                 external_ids={'neutron:router_name': label or f'r{number}',
                               **self.words[number]})

    def say(self, number, words, options=None):
        """Change external_ids and options of a router; None takes one out."""
        for column, new in ((self.words, words), (self.options, options)):
            known = {**column.get(number, {}), **(new or {})}
            column[number] = {name: text for name, text in known.items()
                              if text is not None}
        columns = {name: datum.values and [
            atom.value for atom in datum.values] or []
            for name, datum in self.tables['nb']['Logical_Router'][
                key(number)]._data.items()
            if name not in ('external_ids', 'options')}
        self.put('Logical_Router', number, **{
            **columns, 'name': columns['name'][0],
            'options': self.options[number],
            'external_ids': {'neutron:router_name': f'r{number}',
                             **self.words[number]}})

    def look(self, whole=False):
        """The subjects by (number of the router, name).

        A router that is not there has the text of the file in place of a
        number; an intent that the file replaces has a third item.
        """
        found = self.subjects(whole)
        assert not self.made.problems, self.made.problems
        seen = {}
        for key in sorted(found, reverse=True):
            each, = found[key].values()
            where = (uuid.UUID(each.router).int if each.router
                     else each.called, each.name)
            seen[where if where not in seen else (*where, 'again')] = each
        return seen

    def states(self):
        return {where: each.state.value for where, each in self.look().items()}
