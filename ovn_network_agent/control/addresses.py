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

"""The addresses that concern this node, with their states.  Pure.

The view says which addresses a router has, and the engine's table says what
has become of each.
"""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import resources
from ovn_network_agent import selection
from ovn_network_agent.conf import bridges
from ovn_network_agent.control import moments
from ovn_network_agent.control import rows
from ovn_network_agent.control import standing
from ovn_network_agent.drivers import segments
from ovn_network_agent.engine import ledger
from ovn_network_agent.forward import standing as forwarding

# In the order in which the first one names an address.
FIP, SNAT, DNAT, ROUTER, VIP, OTHER = KINDS = (
    'fip', 'snat', 'dnat', 'router', 'vip', 'other')
_OF_NAT = {'dnat_and_snat': FIP, 'snat': SNAT, 'dnat': DNAT}
_OF_VIP = {forwarding.State.ANNOUNCED: standing.State.ANNOUNCED,
           forwarding.State.DORMANT: standing.State.OMITTED,
           forwarding.State.DOWN: standing.State.OMITTED,
           forwarding.State.REFUSED: standing.State.FAILED,
           forwarding.State.WAITING: standing.State.WANTED}
# Resources about a router as a whole that belong to each of its addresses.
_OF_ROUTER = ((resources.DefaultRoute.kind, '0.0.0.0/0'),
              (resources.DefaultRoute.kind, '::/0'),
              (resources.Advertised.kind,))


@dataclasses.dataclass(slots=True)
class _Known:
    """One address, as far as the view knows it.

    :ivar kinds: set of words of :data:`KINDS`
    :ivar router: :class:`model.Router`, or None
    :ivar port: :class:`model.GatewayPort` that answers for it, or None
    :ivar vip: :class:`forward.standing.Standing`, or None
    :ivar distributed: whether the chassis of a machine answers for it
    :ivar resident: whether that is this chassis
    """

    address: str
    kinds: set
    router: model.Router | None = None
    port: model.GatewayPort | None = None
    vip: forwarding.Standing | None = None
    distributed: bool = False
    resident: bool = False


class Addresses:
    """The addresses of one moment.

    :param snapshot: :class:`model.Snapshot`, or None
    :param table: :class:`engine.table.Table`
    :param standings: tuple of :class:`forward.standing.Standing`
    :param names: :class:`ovn.directory.Directory`
    :param conf: the oslo.config ConfigOpts
    """

    def __init__(self, snapshot, table, standings, names, conf):
        self._snapshot = snapshot
        self._table = table
        self._names = names
        self._conf = conf
        self._refs = table.by_subject()
        self._problems = {address: problem.text for problem in table.problems
                          for address in problem.addresses}
        self._known = {}
        self._withheld = {}
        for router in snapshot.routers if snapshot else ():
            self._add_router(router)
        for each in standings:
            self._add(each.vip.address, VIP).vip = each
        self._add_others()

    def build(self, chosen=lambda address: True, router='', detailed=False):
        """The addresses as JSON values, sorted by router and address.

        :param chosen: function(address), False for one to leave out
        :param router: a name for :meth:`directory.Router.is_called`, '' for
            all
        :param detailed: whether to add the rows of each address
        :returns: list of dict, with the keys that the reference documents
        """
        found = [self._row(known, detailed)
                 for known in self._known.values()
                 if chosen(known.address) and self._is_of(known, router)]
        return sorted(found, key=lambda each: (
            each['router_name'], networks.sort_key(each['address'])))

    def _is_of(self, known, router):
        if not router:
            return True
        of = known.router and self._names.routers.get(known.router.uuid)
        return bool(of and of.is_called(router)) or bool(
            known.router and router in (known.router.uuid,
                                        known.router.name))

    # -- which ------------------------------------------------------------

    def _add(self, address, kind, router=None, port=None):
        known = self._known.setdefault(
            (address, router.uuid if router else ''),
            _Known(address, set(), router))
        known.kinds.add(kind)
        known.port = known.port or port
        return known

    def _add_router(self, router):
        self._withheld.update(((address, router.uuid), reason)
                              for address, reason in router.withheld)
        for nat in router.nats:
            port = networks.owner_of(nat, router.ports)
            if self._concerns(nat, port):
                known = self._add(nat.external_ip,
                                  _OF_NAT.get(nat.type, OTHER), router, port)
                known.distributed = bool(nat.distributed_mac)
                known.resident = nat.resident
        for port in router.served_ports or [
                port for port in router.ports
                if router.routed_by_ovn and port.local]:
            for text in port.networks:
                self._add_own(str(networks.parse_interface(text).ip), router,
                              port)
            for address in port.nat_addresses:
                if (address, router.uuid) not in self._known:
                    self._add_own(address, router, port, SNAT)
        for each in router.balanced:
            # An address without a resource may be a tenant's.
            if self._about(each.address):
                self._add(each.address, FIP if each.floating else VIP, router,
                          networks.owner(each.address, router.ports)
                          if router.ports else None)

    def _add_own(self, address, router, port, kind=ROUTER):
        if self._handled(address):
            self._add(address, kind, router, port)

    def _handled(self, address):
        """Whether an address has more than flows.

        Nothing else is made for an address of IPv6 in no provider network.
        """
        return networks.family(address) == 4 or (
            address in self._problems or
            any(address == each for each, _router in self._withheld) or
            any(ref.kind != resources.Flow.kind for ref in self._refs.get(
                networks.host_prefix(address), ())))

    def _concerns(self, nat, port):
        """Whether this node handles an address of NAT, or has failed to."""
        if not self._handled(nat.external_ip):
            return False
        served = port is not None and (port.served or nat.resident)
        return served or self._about(nat.external_ip)

    def _about(self, address):
        return self._handled(address) and (
            address in self._problems or
            networks.host_prefix(address) in self._refs)

    def _add_others(self):
        """Addresses that only the table knows."""
        known = {address for address, _router in self._known}
        for subject, refs in self._refs.items():
            address, _slash, length = subject.partition('/')
            if length not in ('32', '128') or address in known:
                continue
            found = map(self._table.row, refs)
            if any(rows.stage(row) is resources.Stage.ANNOUNCE or
                   row.state in ledger.FAILING for row in found):
                self._add(address, OTHER)

    # -- one address ------------------------------------------------------

    def _row(self, known, detailed):
        router = known.router
        named = self._names.routers.get(router.uuid) if router else None
        state, why, since = self._state(known)
        segment = known.port.segment if known.port else None
        found = {
            'address': known.address,
            'kind': next(kind for kind in KINDS if kind in known.kinds),
            'kinds': [kind for kind in KINDS if kind in known.kinds],
            'router': router.uuid if router else '',
            'router_name': (named.label if named else '') or (
                router.name if router else ''),
            'port': known.port.lrp if known.port else '',
            'physical_network': segment.physical_network if segment else '',
            'vlan': segment.vlan if segment else 0,
            'device': segment.device if segment else '',
            'tag': (known.port.tag if known.port else None) or 0,
            'state': state.value, 'why': why,
            'since': moments.text(since.wall if since else None)}
        if detailed:
            found['resources'] = [rows.build(row) for row in rows.around(
                self._table, self._refs.get(
                    networks.host_prefix(known.address), ()),
                self._of_router(known.router))]
        return found

    def _of_router(self, router):
        """Refs of what belongs to a router as a whole."""
        about = [resources.Ref(kind, (router.uuid, *rest))
                 for kind, *rest in _OF_ROUTER] if router else []
        return [ref for ref in about if self._table.state(ref) is not None]

    def _state(self, known):
        """(:class:`standing.State`, reason, Moment or None)."""
        prefix = networks.host_prefix(known.address)
        judged = standing.judge(self._table, [
            self._table.row(ref) for ref
            in sorted(self._refs.get(prefix, ()), key=str)])
        if known.vip is not None and (judged is None or
                                      judged[0] is standing.State.ANNOUNCED):
            return (_OF_VIP[known.vip.state], known.vip.reason,
                    judged[2] if judged else None)
        if judged is None:
            return *self._silent(known), None
        state, why, since = judged
        return state, why or self._remark(known, state), since

    def _remark(self, known, state):
        """The remark about an address that is announced."""
        port = known.port
        if (state is standing.State.ANNOUNCED and port and
                not known.resident and
                port.handover is model.Handover.ANNOUNCE):
            to = self._names.hostname(port.chassis) or 'another chassis'
            return f'handed over to {to}; announced until its proof'
        return self._trouble(known)

    def _silent(self, known):
        """(state, reason) of an address that nothing announces."""
        State = standing.State
        port = known.port
        if known.distributed and not known.resident:
            return State.OMITTED, ('distributed: the chassis of its machine '
                                   'answers for it')
        withheld = self._withheld_for(known)
        if withheld:
            return State.OMITTED, withheld
        if known.address in self._problems:
            return State.OMITTED, self._problems[known.address]
        if (port and not known.resident and
                port.handover is model.Handover.FORWARD):
            to = self._names.hostname(port.chassis) or 'another chassis'
            return State.FORWARDED, (
                f'handed over to {to}; withdrawn, and what still arrives '
                'here is forwarded')
        trouble = self._trouble(known)
        if trouble:
            return State.FAILED, trouble
        manual = self._conf.network_cidr
        if manual and not networks.inside(
                known.address, networks.provider_networks((), manual)):
            return State.OMITTED, 'in no network of [DEFAULT] network_cidr'
        name = self._conf.frr.vrf_name
        if name and self._snapshot.node.device(name) is None:
            return State.FAILED, (f'the VRF {name} of [frr] vrf_name is '
                                  'missing on this node')
        return State.OMITTED, 'no driver announces it ([DEFAULT] drivers)'

    def _withheld_for(self, known):
        """Why an address is not announced on purpose, '' for no such reason.
        """
        if known.router is None:
            return ''
        if known.router.routed_by_ovn:
            return selection.BY_OVN
        return self._withheld.get((known.address, known.router.uuid), '')

    def _trouble(self, known):
        """The reason why a driver cannot do anything about an address."""
        if known.router is None:
            return ''
        for (driver, about, name), why in self._table.broken.items():
            if about == known.router.uuid and name in ('', known.address):
                return f'driver {driver}: {why}'
        if known.port is None or not (known.port.local or known.resident):
            return ''
        return segments.objection(known.port.segment,
                                  bridges.served(self._conf))
