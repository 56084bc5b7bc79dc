# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The indexes by which the view finds rows, kept up row by row.  Pure."""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import KeysView
from collections.abc import Mapping
import itertools
import operator
from typing import Any

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.model import selection
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovn.subjects import policies
from ovn_network_agent.ovn.subjects import vnis
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row


class Index:
    """Finds the rows of one table by keys that are computed from a row."""

    def __init__(self, keys: Callable[[Any], Iterable[Hashable]]) -> None:
        self._keys = keys
        # A tuple of one, or a set, which takes four times the memory.
        self._uuids: dict[Hashable, tuple[Any, ...] | set[Any]] = {}
        self._keys_of: dict[Any, tuple[Any, ...]] = {}

    def __len__(self) -> int:
        return len(self._keys_of)

    def update(self, uuid: Any, row: Any) -> set[Any]:
        """Update the index for a row; None when it is gone.

        :returns: the keys that the row has got or lost
        """
        before = self._keys_of.pop(uuid, ())
        now: tuple[Any, ...] = ()
        if row is not None:
            self._keys_of[uuid] = now = tuple(self._keys(row))
        if not before and not now:
            return set()
        removed, added = self._difference(before, now)
        for key in removed:
            self._drop(key, uuid)
        for key in added:
            self._add(key, uuid)
        return removed | added

    def _add(self, key: Hashable, uuid: Any) -> None:
        found = self._uuids.get(key)
        if found is None:
            self._uuids[key] = (uuid,)
        elif isinstance(found, tuple):
            self._uuids[key] = {*found, uuid}
        else:
            found.add(uuid)

    def _drop(self, key: Hashable, uuid: Any) -> None:
        found = self._uuids[key]
        if isinstance(found, tuple) or len(found) == 1:
            del self._uuids[key]
        else:
            found.discard(uuid)

    def _difference(self, before: tuple[Any, ...], now: tuple[Any, ...]
                    ) -> tuple[set[Any], set[Any]]:
        """The keys that are gone, and those that have come."""
        return set(before) - set(now), set(now) - set(before)

    def rebuild(self, rows: Mapping[Any, Any]) -> None:
        """Make the index again from all rows."""
        self._uuids.clear()
        self._keys_of.clear()
        for uuid, row in rows.items():
            self._keys_of[uuid] = now = tuple(self._keys(row))
            for key in set(now) if len(now) > 1 else now:
                self._add(key, uuid)

    def find(self, key: Hashable) -> frozenset[Any]:
        """UUIDs of the rows with a key."""
        return frozenset(self._uuids.get(key, ()))

    def first(self, key: Hashable) -> Any:
        """The smallest UUID of the rows with a key, or None."""
        return min(self._uuids.get(key, ()), default=None)

    def elsewhere(self, key: Hashable, uuid: Any) -> bool:
        """Whether a row besides this one has a key."""
        found = self._uuids.get(key, ())
        return len(found) > (uuid in found)

    def keys(self) -> KeysView[Any]:
        """All keys of all rows."""
        return self._uuids.keys()

    def rows(self) -> KeysView[Any]:
        """UUIDs of all rows."""
        return self._keys_of.keys()

    def keys_of(self, uuid: Any) -> tuple[Any, ...]:
        """The keys of a row."""
        return self._keys_of.get(uuid, ())


class References(Index):
    """Finds the rows that refer to a row.

    A column may have thousands of references, of which an event changes one:
    none is hashed before or behind the changes.
    """

    def __init__(self, column: str) -> None:
        super().__init__(lambda row: columns.referenced(row, column))

    def _difference(self, before: tuple[Any, ...], now: tuple[Any, ...]
                    ) -> tuple[set[Any], set[Any]]:
        at_most = min(len(before), len(now))
        first = _same(before, now, at_most)
        last = _same(reversed(before), reversed(now), at_most - first)
        return super()._difference(before[first:len(before) - last],
                                   now[first:len(now) - last])


def _same(one: Iterable[object], other: Iterable[object],
          at_most: int) -> int:
    """How many of the first pairs, AT_MOST, are the same object."""
    pairs = itertools.islice(map(operator.is_not, one, other), at_most)
    return next(itertools.compress(itertools.count(), pairs), at_most)


#: Finds an index by its database, table and name.
Find = Callable[[str, str, str], Index]


def make() -> dict[tuple[str, str], dict[str, Index]]:
    """New empty indexes: by (database, table), then by name."""
    return {
        ('sb', 'Port_Binding'): {
            'redirect': _of_type('chassisredirect', lambda r: [
                columns.atom(r, 'logical_port').removeprefix(model.REDIRECT)]),
            'bound': _of_type('chassisredirect',
                              lambda r: [rows.chassis_name(r)]),
            'peer': _of_type('patch', _peer_keys),
            'localnet': _of_type(
                'localnet', lambda r: columns.referenced(r, 'datapath')),
            'attached': _of_type(
                'patch', lambda r: columns.referenced(r, 'datapath')),
            'ip': Index(lambda r: rows.machine(r, True)[0]
                        if rows.answers_itself(r) else ()),
            'virtual': _of_type(
                'virtual', lambda r: rows.machine(r, False)[0]),
            'machine on': Index(rows.machine_chassis),
            'subnet': Index(_subnet_keys),
            'policy': _policy(policies.MACHINE),
            'machine': Index(
                lambda r: [columns.atom(r, 'logical_port')]
                if rows.hosts(r) else ()),
            'hosted': Index(
                lambda r: [rows.chassis_name(r)] if rows.hosts(r) else ())},
        ('sb', 'Advertised_Route'): {
            'datapath': References('datapath'),
            'prefix': Index(_prefix_keys)},
        ('sb', 'Service_Monitor'): {
            'backend': Index(_monitor_keys)},
        ('sb', 'Chassis'): {
            'name': _column('name'),
            'hostname': _column('hostname')},
        ('sb', 'Encap'): {
            'name': _column('chassis_name'),
            'ip': _column('ip')},
        ('nb', 'Gateway_Chassis'): {
            'chassis': _column('chassis_name')},
        ('nb', 'HA_Chassis'): {
            'chassis': _column('chassis_name')},
        ('nb', 'DHCP_Options'): {
            'subnet': _column('cidr')},
        ('nb', 'HA_Chassis_Group'): {
            'member': References('ha_chassis')},
        ('nb', 'Logical_Router_Port'): {
            'name': _column('name'),
            'member': References('gateway_chassis'),
            'group': References('ha_chassis_group'),
            'address': Index(address_keys),
            'policy': _policy('router port')},
        ('nb', 'Load_Balancer'): {
            'address': Index(rows.vip_keys),
            'policy': _policy('load balancer')},
        ('nb', 'Load_Balancer_Group'): {
            'balancer': References('load_balancer')},
        ('nb', 'NAT'): {
            'address': Index(_external_keys),
            'tenant': _of_type('snat', _tenant_keys),
            'machine': Index(_machine_keys),
            'ipv6': Index(lambda r: [True] if ':' in columns.atom(
                r, 'external_ip') else ()),
            'policy': _policy('NAT row')},
        ('nb', 'Logical_Router'): {
            'uuid': Index(lambda r: [str(r.uuid)]),
            'called': Index(
                lambda r: [(columns.atom(r, 'name'), _label(r))]),
            'label': Index(_label_keys),
            'port': References('ports'),
            'nat': References('nat'),
            'balancer': References('load_balancer'),
            'group': References('load_balancer_group'),
            'route': References('static_routes'),
            'routed': Index(
                lambda r: [True] if columns.has_entry(r, policies.ROUTED) and
                policies.is_routed(r) else ()),
            'vni': Index(lambda r: [True] if columns.has_entry(
                r, vnis.ASSERTED) else ()),
            'policy': _policy(policies.ROUTER)},
        ('nb', 'Logical_Switch'): {
            'uuid': Index(lambda r: [str(r.uuid)]),
            'names': Index(network_names),
            'vni': Index(vnis.read),
            'number': Index(lambda r: [each.number for each in vnis.read(r)]),
            'policy': _policy(policies.NETWORK)},
        ('nb', 'Logical_Router_Static_Route'): {
            'tag': Index(_tag_keys)},
        ('nb', 'NB_Global'): {
            'entry': Index(_entry_keys)},
    }


def _column(name: str) -> Index:
    return Index(lambda r: [columns.atom(r, name)])


def _of_type(kind: str, keys: Callable[[Row], Iterable[Hashable]]) -> Index:
    return Index(lambda r: keys(r) if columns.atom(r, 'type') == kind else ())


def _policy(kind: str) -> Index:
    return Index(lambda r: policies.read(kind, r)
                 if columns.has_entry(r, policies.KEYS) else ())


def _label(row: Row) -> str:
    return wording.one_line(
        columns.entry(row, 'external_ids', directory.NEUTRON_NAME) or '')


def _label_keys(row: Row) -> Iterable[str]:
    label = _label(row)
    return [label] if label and selection.is_free(
        directory.NEUTRON_PREFIX, label) else ()


def network_names(row: Row) -> Iterable[str]:
    """All names of a network."""
    return selection.names(
        directory.NEUTRON_PREFIX, str(row.uuid), columns.atom(row, 'name'),
        columns.entry(row, 'external_ids', directory.NETWORK_NAME) or '')


def _peer_keys(row: Row) -> Iterator[str]:
    peer = columns.entry(row, 'options', 'peer')
    if peer is not None:
        yield peer


def _subnet_keys(row: Row) -> Iterator[tuple[Any, str]]:
    if rows.answers_itself(row):
        for datapath in columns.referenced(row, 'datapath'):
            for subnet in rows.subnets(row)[0]:
                yield datapath, subnet


def _monitor_keys(row: Row) -> Iterator[tuple[str, int, str, str]]:
    """The backend that a row of Service_Monitor is about."""
    try:
        address = str(ip_text.address(row.ip))
    except ValueError:
        # ovn-northd copies what the load balancer has.
        return
    yield (address, columns.atom(row, 'port'),
           columns.atom(row, 'protocol', 'tcp'),
           columns.atom(row, 'logical_port'))


def _prefix_keys(row: Row) -> Iterable[ip_text.Network]:
    try:
        return [ip_text.network(row.ip_prefix)]
    except ValueError:
        # Such a row advertises nothing.
        return ()


def _entry_keys(row: Row) -> Iterator[str]:
    """The chassis with an entry of their own in NB_Global."""
    for prefix in (ownership.EXT_ID_BFD_REQUEST,
                   ownership.EXT_ID_EGRESS_NETWORKS):
        for key in row.external_ids:
            if key.startswith(prefix):
                yield key.removeprefix(prefix)


def _tag_keys(row: Row) -> Iterator[ownership.Owner]:
    if ownership.is_managed(row.external_ids):
        yield ownership.owner(row.external_ids)


def machine_of(row: Row) -> str:
    """The logical port of a distributed floating IP, '' for another row."""
    if (columns.atom(row, 'type') != 'dnat_and_snat' or
            not columns.atom(row, 'external_mac')):
        return ''
    return str(columns.atom(row, 'logical_port'))


def keeps_address(row: Row) -> bool:
    """Whether a NAT row lets machines out with their own addresses.

    So do those of egress addresses of mode "host", also without marks.  A
    floating IP lets packets in, so it is none.
    """
    return bool(columns.atom(row, 'type') == 'snat' and columns.atom(
        row, 'external_ip') == columns.atom(row, 'logical_ip'))


def _machine_keys(row: Row) -> Iterator[str]:
    machine = machine_of(row)
    if machine:
        yield machine


def _external_keys(row: Row) -> list[str]:
    return [] if keeps_address(row) else [columns.atom(row, 'external_ip')]


def _tenant_keys(row: Row) -> Iterator[str]:
    # Other rows tell the networks of machines of egress addresses.
    if keeps_address(row) or columns.entry(row, 'external_ids',
                                           ownership.EXT_ID_EGRESS):
        return
    tenant = networks.parse_interface(columns.atom(row, 'logical_ip'))
    if tenant is not None:
        yield str(tenant.network)


def address_keys(row: Row) -> Iterator[str]:
    """The addresses of a port of a router."""
    for text in columns.atoms(row, 'networks'):
        interface = networks.parse_interface(text)
        if interface is not None:
            yield str(interface.ip)
