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

"""Rows of OVN that use an address of a provider network.  Pure.

Tenants choose the addresses of their own networks, and may choose the
addresses of a provider network, too.  So a row counts only if its router has a
port on that provider network.
"""

_ROUTER = 'Logical_Router'
_PORT = 'Logical_Router_Port'
# Indexes of a router by what it refers to.
_REFERENCES = ('nat', 'balancer', 'group')


class Users:
    """Finds the users of addresses.

    A result depends on the rows that :meth:`find_user` names, on rows that
    get the address, and on routers and groups that come to refer to such rows
    (:meth:`concerned`).

    :param find: function(database, table, name) that returns the
        :class:`index.Index` of that name
    """

    def __init__(self, find):
        self._find = find

    def find_user(self, bindings, lrp, address):
        """Find a user of an address on the provider network of a port.

        :param bindings: dict of UUID to row of Port_Binding
        :param lrp: name of the Logical_Router_Port
        :param address: IP address, text
        :returns: (words for the kind of user, '' without a user; set of the
            UUIDs of the NB rows that this was read from)
        """
        network = self._network(bindings, lrp)
        depends = set()
        for table, words in (('NAT', 'a NAT row'),
                             ('Load_Balancer', 'a load balancer'),
                             (_PORT, 'a router port')):
            for row in self._find('nb', table, 'address').find(address):
                groups = self._groups(row)
                ports = {row} if table == _PORT else self._ports(
                    {row, *groups})
                depends |= {row, *groups, *ports}
                if network is not None and any(
                        self._network(bindings, name) == network
                        for port in ports for name in self._names(port)):
                    return words, depends
        return '', depends

    def concerned(self, table, row):
        """Rows that a row refers to and whose users the row may change.

        :param table: name of a table of NB
        :param row: UUID
        :returns: iterable of UUID
        """
        names = {_ROUTER: _REFERENCES,
                 'Load_Balancer_Group': ('balancer',)}
        for name in names.get(table, ()):
            yield from self._find('nb', table, name).keys_of(row)

    def _groups(self, row):
        """UUIDs of the groups that a load balancer is in."""
        return self._find('nb', 'Load_Balancer_Group', 'balancer').find(row)

    def _ports(self, found):
        """UUIDs of the ports of all routers that refer to a found row."""
        by_port = self._find('nb', _ROUTER, 'port')
        return {port for name in _REFERENCES for row in found
                for router in self._find('nb', _ROUTER, name).find(row)
                for port in by_port.keys_of(router)}

    def _names(self, port):
        return self._find('nb', _PORT, 'name').keys_of(port)

    def _network(self, bindings, lrp):
        """UUID of the datapath on the other side of a port, or None."""
        patch = self._find('sb', 'Port_Binding', 'peer').first(lrp)
        return None if patch is None else bindings[patch].datapath.uuid
