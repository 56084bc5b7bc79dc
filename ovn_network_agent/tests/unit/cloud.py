# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Values of the view of a cloud, with a chassis, routers and addresses."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import networks
from ovn_network_agent.model import selection

HOSTNAME = 'gw1'
CHASSIS = '11111111-2222-4333-8444-555555555555'
OTHER = '99999999-2222-4333-8444-555555555555'
OWNER = ownership.Owner(HOSTNAME, CHASSIS)
THEIRS = ownership.Owner('gw2', OTHER)
BRIDGE_MAC = '0a:00:00:00:00:01'


def node(**values):
    """This chassis, running, with bridge and VRF."""
    return model.Node(**{
        'chassis': CHASSIS, 'hostname': HOSTNAME,
        'phase': model.Phase.RUNNING,
        'devices': (model.Device('br-ex', BRIDGE_MAC, True),
                    model.Device('vrf-provider', '0a:00:00:00:00:02', True,
                                 10)),
        'bridge_mappings': (('physnet1', 'br-ex'),), **values})


def segment(**values):
    """A flat segment on the provider bridge."""
    return model.Segment(**{
        'datapath': 'dp-1', 'localnet_port': 'provnet-1',
        'physical_network': 'physnet1', 'bridge': 'br-ex',
        'device': 'br-ex', 'mac': BRIDGE_MAC, 'patch_port': 3, **values})


def port(number=1, **values):
    """A gateway port that is active here: 198.51.100.<number>/24."""
    return model.GatewayPort(**{
        'lrp': f'lrp-{number:d}', 'mac': f'fa:16:3e:00:00:{number:02x}',
        'networks': (f'198.51.100.{number:d}/24',), 'chassis': CHASSIS,
        'local': True, 'segment': segment(), **values})


def fip(address, **values):
    """The NAT row of a floating IP."""
    return model.Nat(**{
        'type': 'dnat_and_snat', 'external_ip': address,
        'logical_ip': '10.0.0.5', **values})


@dataclasses.dataclass(frozen=True)
class Router(model.Router):
    """A router with the sources of its addresses.

    :ivar withheld: tuple of (address, reason)
    :ivar sent: nat_addresses of each port
    """

    nats: tuple = ()
    balanced: tuple = ()
    withheld: tuple = ()
    sent: tuple = ()

    @property
    def bare(self):
        """The router as the view has it."""
        values = {field.name: getattr(self, field.name)
                  for field in dataclasses.fields(model.Router)}
        snat = [networks.translated(nat.logical_ip) for nat in self.nats
                if nat.type == 'snat']
        return model.Router(**{
            **values, 'tenants': frozenset(filter(None, snat)),
            'distributed': any(nat.distributed_mac for nat in self.nats)})


def addresses(router):
    """The addresses of a router as the view has them, a dict."""
    bare, nats = router.bare, {}
    for nat in router.nats:
        nats.setdefault(nat.external_ip, []).append(nat)
    own = networks.own_addresses(bare)
    lrps = [port.lrp for port in router.ports]
    balanced = {each.address: each for each in router.balanced}
    names = dict.fromkeys((*nats, *own, *balanced, *router.sent))
    return {f'{address} ({number})' if number else address:
            each._replace(withheld=(
                selection.BY_OVN if router.routed_by_ovn
                else dict(router.withheld).get(address, '')))
            for address in names for number, each in enumerate(
                networks.served_addresses(
                    bare, address, networks.AddressSources(
                        nats.get(address, []), balanced.get(address),
                        lrps if address in router.sent else ()),
                    own.get(address, ())))}


def router(number=1, fips=(), **values):
    """A router with one local gateway port and floating IPs."""
    return Router(**{
        'uuid': f'00000000-0000-4000-8000-{number:012d}',
        'name': f'neutron-{number:d}', 'ports': (port(number),),
        'nats': tuple(fip(a) for a in fips), **values})


def network(**values):
    """A provider network with machines here, flat: 198.51.100.0/24."""
    return model.ProviderNetwork(**{
        'uuid': '00000000-0000-4000-8000-0000000000aa', 'called': 'public',
        'networks': ('198.51.100.0/24',), 'segment': segment(), **values})


def machine(address, **values):
    """An address of a machine on a provider network."""
    return model.PortAddress(**{
        'network': network(), 'port': 'vm-1', 'address': address,
        'mac': 'fa:16:3e:00:00:aa', **values})


def with_machines(view, *found):
    """A view that has these addresses of machines, too."""
    machines = {}
    for each in found:
        machines.setdefault(each.network.uuid, {})[
            f'{each.address} ({each.port})' if each.claimed
            else each.address] = each
    return dataclasses.replace(
        view, machines=machines,
        networks={each.network.uuid: each.network for each in found})


def tenant(prefix='10.0.0.0/24', subnet=None, **values):
    """A prefix of tenants behind the router."""
    return model.TenantPrefix(**{
        'router': router().uuid, 'called': 'r1', 'prefix': prefix,
        'subnet': subnet or prefix, 'network': 'net', 'port': port(),
        'via': '198.51.100.1', **values})


def group(router):
    """The gateway group of a router, this chassis being a candidate."""
    return model.GatewayGroup(
        'Gateway_Chassis', 'lrp of ' + router.uuid, router.ports[0].lrp,
        (model.Candidate(CHASSIS, 1), model.Candidate(OTHER, 2)),
        tuple(model.GroupPort(
            model.REDIRECT + p.lrp, p.chassis, p.lrp, p.networks, p.segment)
            for p in router.ports), (router.uuid,))


def away(router):
    """A router with its gateways on the other chassis."""
    return dataclasses.replace(router, ports=tuple(
        p._replace(chassis=OTHER, local=False)
        for p in router.ports))


def snapshot(*routers, groups=(), **values):
    """A view with these routers."""
    routers = sorted(routers, key=lambda r: r.uuid)
    return model.Snapshot(
        node(**values), tuple(each.bare for each in routers), tuple(groups),
        addresses={each.uuid: addresses(each) for each in routers})
