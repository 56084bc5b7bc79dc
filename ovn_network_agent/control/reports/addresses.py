# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The addresses that concern this node, with their states.  Pure.

The view says who has them, and the engine's table what has become of each.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
import dataclasses
from typing import Any

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import bridges
from ovn_network_agent.common import networks
from ovn_network_agent.control import resource_rows
from ovn_network_agent.drivers import tenant_network
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.drivers.common import segments
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import table as tables
from ovn_network_agent.forward import vip_state as forwarding
from ovn_network_agent.model import evpn_names
from ovn_network_agent.ovn.chassis import directory

# In the order in which the first one names an address.
VIP, PORT, TENANT, OTHER = 'vip', 'port', 'tenant', 'other'
KINDS = (*model.KINDS, PORT, TENANT, OTHER)
_OF_VIP = {forwarding.State.ANNOUNCED: resource_rows.State.ANNOUNCED,
           forwarding.State.DORMANT: resource_rows.State.OMITTED,
           forwarding.State.DOWN: resource_rows.State.OMITTED,
           forwarding.State.REFUSED: resource_rows.State.FAILED,
           forwarding.State.WAITING: resource_rows.State.WANTED}
# Resources about a router as a whole that belong to each of its addresses.
_OF_ROUTER = ((resources.DefaultRoute.kind, '0.0.0.0/0'),
              (resources.DefaultRoute.kind, '::/0'),
              (resources.Advertised.kind,))


@dataclasses.dataclass(slots=True)
class _Known:
    address: str
    kinds: set[str]  # words of KINDS
    router: model.Router | None = None
    served: model.ServedAddress | None = None
    machine: model.PortAddress | None = None
    tenant: model.TenantPrefix | None = None
    vip: forwarding.VipStatus | None = None
    about: str = ''  # subject, if only in the table

    @property
    def port(self) -> model.GatewayPort | None:
        """The gateway port that answers for it."""
        of = self.served or self.tenant
        return of.port if of else None

    @property
    def found(self) -> (model.ServedAddress | model.PortAddress |
                        model.TenantPrefix | None):
        """The address in the view, or None."""
        return self.served or self.machine or self.tenant

    @property
    def subject(self) -> str:
        """See :class:`resources.Resource`."""
        if self.found:
            return self.found.subject
        return self.about or networks.host_prefix(self.address)

    @property
    def segment(self) -> model.Segment | None:
        """The provider segment, or None."""
        return self.found.place.segment if self.found else None

    @property
    def device(self) -> str:
        """The device that its packets go to, '' without one."""
        if self.machine and self.machine.network.vni:
            return evpn_names.vrf_end(self.machine.network.uuid)
        if self.port and self.port.vni:
            return evpn_names.vrf_end(self.port.network)
        return self.segment.device if self.segment else ''

    @property
    def claimed(self) -> str:
        """Who else has a machine's address and comes first, or ''."""
        return self.machine.claimed if self.machine else ''

    @property
    def resident(self) -> bool:
        """Whether a machine on this chassis has the address."""
        return self.served is not None and self.served.resident


class Addresses:
    """The addresses of one moment."""

    def __init__(self, snapshot: model.Snapshot | None, table: tables.Table,
                 standings: Sequence[forwarding.VipStatus],
                 names: directory.Directory, conf: cfg.ConfigOpts) -> None:
        self._snapshot = snapshot
        self._table = table
        self._names = names
        self._conf = conf
        self._refs = table.by_subject()
        self._problems = {address: problem.text for problem in table.problems
                          for address in problem.addresses}
        self._known: dict[tuple[str, str], _Known] = {}
        routers = {router.uuid: router
                   for router in snapshot.routers} if snapshot else {}
        addresses = snapshot.addresses if snapshot else {}
        self._tenants = snapshot.tenants if snapshot else {}
        served = [each for uuid in routers
                  for each in addresses.get(uuid, {}).values()]
        self._withheld = {each.address for each in served if each.withheld}
        for each in served:
            self._add_served(each, routers[each.router])
        for machines in snapshot.machines.values() if snapshot else ():
            for machine in machines.values():
                self._known[machine.address, machine.port] = _Known(
                    machine.address, {PORT}, machine=machine)
        for uuid, prefixes in self._tenants.items():
            for prefix in prefixes.values():
                self._known[prefix.address, f'{TENANT} {uuid}'] = _Known(
                    prefix.address, {TENANT, VIP} if prefix.vip else {TENANT},
                    routers[uuid], tenant=prefix)
        for found in standings:
            self._add(found.vip.address, (VIP,)).vip = found
        self._add_others()

    def build(self, chosen: Callable[[str], bool] = lambda address: True,
              router: str = '', detailed: bool = False
              ) -> list[dict[str, Any]]:
        """The addresses as JSON values, sorted by router, network and address.

        The reference documents the keys; ``detailed`` adds the rows of each.

        :param router: for :meth:`directory.Router.is_called`, '' for all
        """
        found = [self._row(known, detailed)
                 for known in self._known.values()
                 if chosen(known.address) and self._is_of(known, router)]
        return sorted(found, key=lambda each: (
            each['router_name'], each['network'],
            networks.sort_key(each['address'].partition('/')[0])))

    def _is_of(self, known: _Known, router: str) -> bool:
        if not router:
            return True
        of = known.router and self._names.routers.get(known.router.uuid)
        return bool(of and of.is_called(router)) or bool(
            known.router and router in (known.router.uuid,
                                        known.router.name))

    # -- which ------------------------------------------------------------

    def _add(self, address: str, kinds: Collection[str],
             router: model.Router | None = None) -> _Known:
        known = self._known.setdefault(
            (address, router.uuid if router else ''),
            _Known(address, set(), router))
        known.kinds.update(kinds)
        return known

    def _add_served(self, served: model.ServedAddress, router: model.Router
                    ) -> None:
        address = served.address
        if not self._handled(served):
            return
        prefix = networks.host_prefix(address)
        if served.kinds == (VIP,) and address not in self._problems and (
                served.subject not in self._refs or
                prefix in self._tenants.get(router.uuid, {})):
            return  # it may be a tenant's
        known = self._add(address, served.kinds, router)
        known.served = known.served or served

    def _handled(self, served: model.ServedAddress) -> bool:
        """Whether an address has more than flows.

        IPv6 in no provider network has not.
        """
        address = served.address
        return networks.family(address) == 4 or (
            address in self._problems or address in self._withheld or
            any(ref.kind != resources.Flow.kind
                for ref in self._refs.get(served.subject, ())))

    def _add_others(self) -> None:
        known = {each.subject for each in self._known.values()
                 if not each.claimed}
        for subject, refs in self._refs.items():
            if subject in known:
                continue
            found = map(self._table.row, refs)
            if any(resource_rows.stage(row) is resources.Stage.ANNOUNCE or
                   row.state in ledger.FAILING for row in found):
                self._known[subject, OTHER] = _Known(
                    networks.canonical(evpn_names.prefix_of(subject)),
                    {OTHER}, about=subject)

    # -- one address ------------------------------------------------------

    def _row(self, known: _Known, detailed: bool) -> dict[str, Any]:
        router = known.router
        named = self._names.routers.get(router.uuid) if router else None
        state, why, start = self._state(known)
        found, segment = known.found, known.segment
        row = {
            'address': known.address,
            'kind': next(kind for kind in KINDS if kind in known.kinds),
            'kinds': [kind for kind in KINDS if kind in known.kinds],
            'router': router.uuid if router else '',
            'router_name': (named.label if named else '') or (
                router.name if router else ''),
            'network': known.machine.network.called if known.machine else (
                known.tenant.network if known.tenant else ''),
            'port': known.machine.port if known.machine else (
                known.port.lrp if known.port else ''),
            'physical_network': segment.physical_network if segment else '',
            'vlan': segment.vlan if segment else 0,
            'device': known.device,
            'vni': evpn_names.vni_of_subject(known.subject),
            'tag': (found.tag if found else None) or 0,
            'withheld': bool(found and found.withheld),
            'state': state.value, 'why': why,
            'since': resource_rows.time_text(start.wall if start else None)}
        if detailed:
            row['resources'] = [
                resource_rows.build(each)
                for each in resource_rows.with_required(
                    self._table, self._refs.get(known.subject, ()),
                    self._of_router(known.router))]
        return row

    def _of_router(self, router: model.Router | None) -> list[resources.Ref]:
        about = [resources.Ref(kind, (router.uuid, *rest))
                 for kind, *rest in _OF_ROUTER] if router else []
        return [ref for ref in about if self._table.state(ref) is not None]

    def _state(self, known: _Known
               ) -> tuple[resource_rows.State, str,
                          tables.StateTime | None]:
        if known.claimed:
            return resource_rows.State.OMITTED, (
                f'{known.claimed} has the address, too, and comes first'), None
        fault = self._fault(known)
        if fault and known.tenant and not known.tenant.announced:
            return resource_rows.State.OMITTED, fault, None
        judged = resource_rows.judge(self._table, [
            self._table.row(ref) for ref
            in sorted(self._refs.get(known.subject, ()), key=str)])
        if known.vip is not None and (
                judged is None or
                judged[0] is resource_rows.State.ANNOUNCED):
            return (_OF_VIP[known.vip.state], known.vip.reason,
                    judged[2] if judged else None)
        if judged is None:
            return *self._silent(known), None
        state, why, start = judged
        if fault and state in (resource_rows.State.ANNOUNCED,
                               resource_rows.State.HELD):
            why = fault
        return state, why or self._remark(known, state), start

    def _fault(self, known: _Known) -> str:
        prefix = known.tenant
        if prefix is None or prefix.withheld:
            return ''
        found = tenant_network.fault(prefix, networks.inside(
            prefix.via, announcing.provider_networks(self._conf,
                                                     prefix.port)))
        return f'it {found.text}; {found.outcome}' if found else ''

    def _remark(self, known: _Known, state: resource_rows.State) -> str:
        port = known.port
        if (state is resource_rows.State.ANNOUNCED and port and
                not known.resident and
                port.handover is model.Handover.ANNOUNCE):
            to = self._names.hostname(port.chassis) or 'another chassis'
            return f'handed over to {to}; announced until its proof'
        return self._failure(known)

    def _silent(self, known: _Known) -> tuple[resource_rows.State, str]:
        State = resource_rows.State
        port = known.port
        served = known.served
        if known.found and known.found.withheld:
            return State.OMITTED, known.found.withheld
        fault = self._fault(known)
        if fault:
            return State.OMITTED, fault
        if served and not served.answered and not served.unanswered:
            return State.OMITTED, ('distributed: the chassis of its machine '
                                   'answers for it')
        if known.machine and not known.machine.announced:
            return (State.FORWARDED, (
                'its port is not up on this chassis yet; what the machine '
                'sends is forwarded')) if known.machine.bound else (
                    State.OMITTED, 'a live migration of its machine to this '
                    'chassis is under way')
        if known.address in self._problems:
            return State.OMITTED, self._problems[known.address]
        if (port and not known.resident and
                port.handover is model.Handover.FORWARD):
            to = self._names.hostname(port.chassis) or 'another chassis'
            return State.FORWARDED, (
                f'handed over to {to}; withdrawn, and what still arrives '
                'here is forwarded')
        failure = self._failure(known)
        if failure:
            return (State.OMITTED if self._is_beside(known) else
                    State.FAILED), failure
        manual = self._conf.network_cidr
        if manual and not (known.tenant or port and port.vni) and (
                not networks.inside(
                    known.address, networks.provider_networks((), manual))):
            return State.OMITTED, 'in no network of [DEFAULT] network_cidr'
        name = self._conf.frr.vrf_name
        if name and self._snapshot and (
                self._snapshot.node.device(name) is None):
            return State.FAILED, (f'the VRF {name} of [frr] vrf_name is '
                                  'missing on this node')
        return State.OMITTED, 'no driver announces it ([DEFAULT] drivers)'

    def _failure(self, known: _Known) -> str:
        if known.found is None:
            return ''
        if known.port and known.port.vni and not known.port.announced:
            return known.port.vni.problem
        of = known.machine.network if known.machine else known.router
        for (driver, about, name), why in self._table.broken.items():
            if of and about == of.uuid and name in ('', known.address):
                return f'driver {driver}: {why}'
        if known.port and not (known.port.local or known.resident):
            return ''
        return segments.objection(known.segment, bridges.served(self._conf))

    def _is_beside(self, known: _Known) -> bool:
        return (known.machine is not None and
                not known.machine.network.named and not segments.located(
                    known.segment, bridges.served(self._conf)))
