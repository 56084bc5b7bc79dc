# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Further things that happen in the histories of a view.

NAT rows that change hands, words about the announcement, segments, the wiring
of the node, and views that are built anew.
"""

from hypothesis import strategies

from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

SPEAKING = ('NAT', 'Load_Balancer', 'Logical_Router_Port', 'Logical_Router',
            'Logical_Switch')
_ROUTER = 'Logical_Router'
_MACHINES = ['machine-1', 'machine-2']


class Further:
    """Steps of a history, as (method, arguments); see test_view_incremental.
    """

    def further_steps(self, name, address):
        """One transaction each: its method, and strategies for arguments.

        :param name: strategy for the short name of a router
        :param address: strategy for external_ip
        """
        one, yes = strategies.sampled_from, strategies.booleans()
        word = one(['true', 'false', 'false', 'flase', None])
        return [
            ('give', name, name, address), ('lend', name, name),
            ('again', name, address),
            ('all_nats', name, strategies.sets(address)),
            ('say', one(SPEAKING), word), ('say_of', address, word),
            ('say_tag', one(SPEAKING), one(['4400001', '4400002', 'x', None])),
            ('advertise', one(SPEAKING[:3]), one(['false', None])),
            ('routed', name, one(['true', 'false', None])),
            ('called', name, one(['one', 'two'])),
            ('switch', one(['public', 'private', None])),
            ('tag', one([None, 5, 6])), ('second_localnet', yes),
            ('mappings', one(['physnet1:lo', 'physnet1:lo,physnet2:lo',
                              'physnet2:lo', ''])),
            ('patch_port', one([3, 4])), ('drains', one(['', 'all'])),
            ('proof', one([cloud.HOSTNAME, cloud.OTHER_HOSTNAME, ''])),
            ('exclude', strategies.sets(one(
                ['198.51.100.10/32', '198.51.100.12/31']))),
            ('machine', one(_MACHINES),
             one([cloud.CHASSIS, cloud.CHASSIS, cloud.OTHER, None]),
             one(['', '', 'virtual'])),
            ('up', one(_MACHINES), yes),
            ('distribute', address, one(_MACHINES)),
            ('distribute', address, one([*_MACHINES, None])),
            ('gateway_port', address, name), ('full',),
            ('reconnected', one(['nb', 'sb']))]

    def begin_anew(self):
        """Take back what a former history has left."""
        for step in (('switch', None), ('tag', None),
                     ('second_localnet', False), ('patch_port', 3),
                     ('mappings', 'physnet1:lo'), ('drains', ''),
                     ('exclude', ())):
            self.play(step)
        for machine in _MACHINES:
            self.sb.delete('Port_Binding', logical_port=machine)

    # -- NAT rows ---------------------------------------------------------

    def _nats(self, name):
        """The references of a router, as JSON has them."""
        for row in self._found(_ROUTER, 'neutron-' + name, 'nat'):
            nats = row['nat']
            return nats[1] if nats[0] == 'set' else [nats]
        return []

    def _has(self, name, nats):
        return ovsdb.update(_ROUTER, {'name': 'neutron-' + name},
                            nat=ovsdb.ovsdb_set(nats))

    def _row(self, handle, address):
        return ovsdb.insert('NAT', handle, type='dnat_and_snat',
                            external_ip=address, logical_ip='10.0.0.5')

    def _there(self, *names):
        return {'lrp-' + name for name in names} <= set(self.cloud.ports)

    def _do_give(self, name, other, address):
        """A NAT row goes over to another router, and may change with that."""
        nats = self._nats(name)
        if nats and name != other and self._there(name, other):
            self.nb.transact(
                self._has(name, nats[1:]),
                self._has(other, [*self._nats(other), nats[0]]),
                ovsdb.update('NAT', {'_uuid': nats[0]}, external_ip=address))

    def _do_lend(self, name, other):
        """Two routers have the same NAT rows."""
        if self._there(name, other):
            self.nb.transact(self._has(other, self._nats(name)))

    def _do_again(self, name, address):
        """All NAT rows go, and one comes back as another row, at once."""
        if self._there(name):
            self.nb.transact(self._row('again', address), self._has(
                name, [['named-uuid', 'again']]))

    def _do_all_nats(self, name, addresses):
        """Rows beside those that there are, which may be doubled."""
        if self._there(name):
            self.nb.transact(
                *(self._row(f'row{n}', address)
                  for n, address in enumerate(sorted(addresses))),
                self._has(name, [*self._nats(name)[:1], *(
                    ['named-uuid', f'row{n}']
                    for n in range(len(addresses)))]))

    # -- distributed floating IPs -----------------------------------------

    def _do_machine(self, port, where, kind):
        """The port of a machine comes, or is bound elsewhere."""
        where = self.present(where)
        if self.sb.rows('Port_Binding', where=ovsdb.clauses(
                {'logical_port': port})):
            self.cloud.move_machine(port, where, type=kind)
        else:
            self.cloud.add_machine(port, where, kind)

    def _do_up(self, port, up):
        self.sb.update('Port_Binding', {'logical_port': port}, up=up)

    def _do_distribute(self, address, port):
        """The machine of a port answers for an address, or the gateway."""
        self.cloud.change_nat(
            address, logical_port=port or ovsdb.ovsdb_set(()),
            external_mac='fa:16:3e:00:00:aa' if port else ovsdb.ovsdb_set(()))

    def _do_gateway_port(self, address, name):
        found = self._uuids('Logical_Router_Port', f'lrp-{name}2')
        self.cloud.change_nat(address, gateway_port=(
            found[0] if found else ovsdb.ovsdb_set(())))

    # -- words ------------------------------------------------------------

    def _do_say(self, table, word):
        self.cloud.say(table, {}, external_ids={
            ownership.EXT_ID_ANNOUNCE: word})

    def _do_say_tag(self, table, word):
        self.cloud.say(table, {}, external_ids={ownership.EXT_ID_TAG: word})

    def _do_say_of(self, address, word):
        self.cloud.say('NAT', {'external_ip': address}, external_ids={
            ownership.EXT_ID_ANNOUNCE: word})

    def _do_advertise(self, table, word):
        self.cloud.say(table, {}, options={'dynamic-routing-advertise': word})

    def _do_routed(self, name, word):
        self.cloud.say(_ROUTER, {'name': 'neutron-' + name},
                       options={'dynamic-routing': word})

    def _do_called(self, name, label):
        self.cloud.say(_ROUTER, {'name': 'neutron-' + name},
                       external_ids={'neutron:router_name': label})

    def _do_switch(self, name):
        """Another row of the provider network, or none."""
        self.nb.delete('Logical_Switch')
        if name:
            self.cloud.add_switch(name)

    # -- segments and the node --------------------------------------------

    def _do_tag(self, tag):
        self.sb.update('Port_Binding', {'type': 'localnet'},
                       tag=[tag] if tag else [])

    def _do_second_localnet(self, there):
        self.sb.delete('Port_Binding', logical_port='provnet-2')
        if there:
            self.cloud._add_binding(
                self.cloud.network, 'provnet-2', 'localnet',
                options=ovsdb.ovsdb_map(network_name='physnet2'))

    def _tell_node(self, key, value):
        self.ovs.transact(
            ovsdb.mutate('Open_vSwitch', {}, 'external_ids', 'delete',
                         ovsdb.ovsdb_set([key])),
            ovsdb.mutate('Open_vSwitch', {}, 'external_ids', 'insert',
                         ovsdb.ovsdb_dict({key: value})))

    def _do_mappings(self, text):
        self._tell_node('ovn-bridge-mappings', text)

    def _do_drains(self, text):
        self._tell_node(ownership.EXT_ID_DRAIN, text)

    def _do_patch_port(self, number):
        self.ovs.update('Interface', {'name': 'patch-provnet-1'},
                        ofport=number)

    def _do_proof(self, hostname):
        self.nb.update('Logical_Router_Static_Route', {}, external_ids={
            ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
            ownership.EXT_ID_CHASSIS: cloud.HOSTNAME,
            ownership.EXT_ID_ADVERTISED: hostname})

    # -- the view ---------------------------------------------------------

    def _do_exclude(self, cidrs):
        """A reload, which asks for a full view."""
        self.look.view._conf.set_override(
            'exclude_cidrs', sorted(cidrs), group='announce')
        self.look.look(full=True)

    def _do_full(self):
        self.look.look(full=True)

    def _do_reconnected(self, name):
        """What the client notes after a connection that was lost."""
        self.look.databases[name].dirty.mark_all()
