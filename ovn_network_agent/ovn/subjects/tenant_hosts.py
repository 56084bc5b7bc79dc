# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Machines' single addresses in tenants' networks, announced or not.  Pure.

Others that know such addresses use :func:`prefixes`, too.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from ovn_network_agent import model
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.subjects import policies
from ovn_network_agent.ovn.subjects import tenant_networks
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Uuid

_BINDING = 'Port_Binding'
_ROUTER = 'Logical_Router'

#: An address, and why it is not announced, or ''.
Host = tuple[str, str]


class TenantHosts:
    """The addresses of machines, by functions of rows (:mod:`ovn.queries`)."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs,
                 behind: tenant_networks.TenantNetworks) -> None:
        self._rows = found
        self._inputs = known
        self._networks = behind

    def of_network(self, router: Uuid, network: tenant_networks.Network
                   ) -> tuple[Host, ...] | None:
        """The addresses of machines in a network behind a router.

        None if it is announced whole; extra routes have no known ones.
        """
        options = self._inputs.chosen.tenants
        if network.port is None or options is None or not options.hosts:
            return None
        net = ip_text.network(network.prefix)
        return tuple(
            host for uuid in self._rows.find(
                'sb', _BINDING, 'machines').find(network.datapath)
            for host in self._rows.ask(self._machine, router,
                                       network.port, uuid)
            if networks.inside(host[0], [net]))

    def _machine(self, router: Uuid, port: Uuid,
                 uuid: Uuid) -> tuple[Host, ...]:
        row = self._rows.row('sb', _BINDING, uuid)
        if row is None:
            return ()
        own = next(iter(self._rows.find('sb', _BINDING,
                                        'policy').keys_of(uuid)),
                   policies.NONE)
        found = self._rows.ask(self._networks.attached, port)
        return tuple(
            (address, self._floating(router, address) or
             self._inputs.chosen.selected.objection(
                 self._networks.subject(router, found, address, own)))
            for address in rows.machine(row, False)[0])

    def _floating(self, router: Uuid, address: str) -> str:
        """Why a machine with a floating IP is not announced, or ''."""
        by_nat = self._rows.find('nb', _ROUTER, 'nat')
        for nat in sorted(self._rows.find('nb', 'NAT',
                                          'logical').find(address)):
            row = self._rows.row('nb', 'NAT', nat)
            if router in by_nat.find(nat) and row is not None:
                return ('its answers leave with its floating IP '
                        f'{columns.atom(row, "external_ip")}')
        return ''


def prefixes(whole: model.TenantPrefix, hosts: Iterable[Host],
             former: Mapping[str, model.TenantPrefix]
             ) -> Iterator[tuple[str, model.TenantPrefix]]:
    """Single addresses of a network, as prefixes that may be announced.

    Those that have not changed since ``former`` stay the same objects.
    """
    made = {networks.host_prefix(address): why for address, why in hosts}
    # All of last time were made of one network, so one of them tells.
    known = next((former[each] for each in made if each in former), whole)
    same = whole == dataclasses.replace(known, prefix=whole.prefix,
                                        withheld=whole.withheld)
    for prefix, why in made.items():
        known = former.get(prefix, whole)
        if not same or (prefix, why, whole.subnet, whole.vip) != (
                known.prefix, known.withheld, known.subnet, known.vip):
            known = dataclasses.replace(whole, prefix=prefix, withheld=why)
        yield prefix, known
