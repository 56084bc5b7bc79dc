# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A small stateful world in the place of kernel, FRR and OVN.

Its backends keep objects, and fail where a test says so.
"""

import dataclasses
import functools
from importlib import metadata
import threading

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.common import networks
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf import settings
from ovn_network_agent.engine import contributions
from ovn_network_agent.model import selection
from ovn_network_agent.tests import configs

HOSTNAME = 'gw1'
CHASSIS = '11111111-2222-4333-8444-555555555555'
OTHER = '99999999-2222-4333-8444-555555555555'
OWNER = ownership.Owner(HOSTNAME, CHASSIS)
THEIRS = ownership.Owner('gw2', OTHER)
BRIDGE_MAC = '0a:00:00:00:00:01'

# Like the real ones: which backend makes what.
BACKENDS = {
    'relay_port': (resources.RelayPort,),
    'link': (resources.LinkUp, resources.VethPair, resources.VlanDevice),
    'vni_devices': (resources.VniDevices,),
    'vni_port': (resources.VniPort,),
    'sysctl': (resources.Sysctl,),
    'address': (resources.Address, resources.VipAddress,
                resources.EgressAddress),
    'neighbour': (resources.Neighbour,),
    'neighbour_proxy': (resources.NeighbourProxy,),
    'route': (resources.KernelRoute, resources.AnnouncedRoute,
              resources.VniRoute, resources.EgressRoute),
    'rule': (resources.Rule, resources.VniRule, resources.EgressDrop),
    'nftables': (resources.NftTable, resources.NftElement),
    'egress_nft': (resources.EgressTable, resources.EgressMachine,
                   resources.EgressSource, resources.EgressHeld),
    'flow': (resources.Flow,),
    'northbound': (resources.DefaultRoute, resources.MacBinding),
    'overlap': (resources.Overlap,),
    'gateway_priority': (resources.GatewayPriority,),
    'advertised': (resources.Advertised,),
    'peering': (resources.Peering,),
    'egress': (resources.EgressRows,),
    'stale_route': (resources.StaleRoute,),
    'bfd_timers': (resources.BfdTimers,),
    'egress_networks': (resources.EgressNetworks,),
    'frr_prefix_list': (resources.PrefixListEntry,),
    'evpn_instance': (resources.EvpnInstance,),
    'router_advertisement': (resources.RouterAdvertisement,),
    'frr_static': (resources.Announcement,),
}


@functools.cache
def real(name):
    """The class of the real backend of that name."""
    point, = metadata.entry_points(group='ovn_network_agent.backends',
                                   name=name)
    return point.load()


def doubted(wake):
    """Names of the real backends that a :class:`trigger.Wake` doubts."""
    return base.doubted(map(real, BACKENDS), wake.stale) if wake else set()


def revived(wake):
    """Names of the real backends that a :class:`trigger.Wake` revives."""
    return base.revived(map(real, BACKENDS), wake.revived)


class World:
    """Objects by ref, and a journal of every change, in order.

    :ivar unknown: refs of announcements that FRR does not know yet
    :ivar taken: refs of what the agent of another node has when it is lost
    :ivar mute: names of backends that take changes and cannot be read
    :ivar refused: refs of what was refused, once for each time
    """

    def __init__(self):
        self.objects = {}
        self.journal = []
        self.refuses = {}
        self.refused = []
        self.refuses_once = {}
        self.down = set()
        self.mute = set()
        self.unknown = set()
        self.taken = set()
        self.raises = {}
        self.reads = []

    def put(self, *found):
        """Have objects be there that no backend has made."""
        for resource in found:
            self.objects[resource.ref] = resource

    def found(self, kind):
        """Objects of a resource class, by key."""
        # An agent on another thread may change them meanwhile.
        return {ref.key: resource for ref, resource
                in self.objects.copy().items() if ref.kind == kind.kind}

    def values(self):
        """All objects, a set."""
        return set(self.objects.values())

    def order(self, *verbs):
        """Kinds in the journal in order, each run of equal ones once."""
        kinds = []
        for verb, ref in self.journal:
            if verb in verbs and (not kinds or kinds[-1] != ref.kind):
                kinds.append(ref.kind)
        return kinds

    def refusal(self, ref):
        return self.refuses_once.pop(ref, None) or self.refuses.get(ref)


class WorldBackend(base.Backend):
    """One backend of the world.

    :param name: its name, a key of :data:`BACKENDS` or new
    :param world: :class:`World`
    :param kinds: resource classes, default those of the real one
    """

    def __init__(self, name, world, kinds=None, concurrent=False,
                 invalidates=()):
        super().__init__(None)
        self.name = name
        self.kinds = BACKENDS[name] if kinds is None else kinds
        self.concurrent = concurrent
        self.invalidates = invalidates
        if name in BACKENDS:
            self.doubted_by = real(name).doubted_by
            self.revived_by = real(name).revived_by
            self.finds_wanted_only = real(name).finds_wanted_only
        self.world = world
        self.gate = threading.Event()
        self.gate.set()
        self.answers = threading.Event()
        self.answers.set()

    def read(self, known):
        self._reach()
        if self.name in self.world.mute:
            raise base.BackendError(f'{self.name} cannot be read')
        self.world.reads.append(self.name)
        names = [kind.kind for kind in self.kinds]
        return [r for r in self.world.objects.values() if r.kind in names and
                (r.ref in known or not self.finds_wanted_only)]

    def apply(self, delta):
        if not self.gate.wait(10):
            raise AssertionError('the test never let the backend go on')
        self._reach()
        failures = {}
        for verb, found in (('create', delta.create),
                            ('update', [new for _old, new in delta.update]),
                            ('delete', delta.delete)):
            for resource in found:
                self._change(verb, resource, failures)
        return failures

    def taken_over(self, lost):
        return self.world.taken.intersection(lost)

    def in_effect(self, announced):
        if not self.answers.wait(10):
            raise AssertionError('the test never let the backend answer')
        self._reach()
        return {r.ref for r in announced} - self.world.unknown

    def _reach(self):
        if self.name in self.world.raises:
            raise self.world.raises[self.name]
        if self.name in self.world.down:
            raise base.BackendError(f'{self.name} is down')

    def _change(self, verb, resource, failures):
        ref = resource.ref
        reason = self.world.refusal(ref)
        if reason:
            self.world.refused.append(ref)
            failures[ref] = reason
            return
        self.world.journal.append((verb, ref))
        if verb == 'delete':
            self.world.objects.pop(ref, None)
        else:
            self.world.objects[ref] = resource


def backends(world):
    """One backend for every kind there is."""
    return [WorldBackend(name, world) for name in BACKENDS]


def conf(**values):
    """Options with their defaults, but for these.

    There is no control socket, as tests run side by side; and no driver
    gateway_drain, as a drain needs somebody who takes over.

    :param values: option=value, or group__option=value
    """
    return configs.conf(**{
        'control_socket': '', 'drivers': ['fip_route', 'veth_leak'],
        'ovn__ovn_nb_remote': ['tcp:192.0.2.1:6641'],
        'ovn__ovn_sb_remote': ['tcp:192.0.2.1:6642'], **values})


def driver(name, options, made=None, more=()):
    """A driver with the settings that the loader would give it.

    :param options: a ConfigOpts, see :func:`conf`
    :param made: class of the driver, default that of its entry point
    :param more: further arguments of the class
    """
    if made is None:
        point, = plugins.everything().select(
            group='ovn_network_agent.drivers', name=name)
        made = point.load()
    return made(name, settings.driver_settings(
        settings.live(options), name, made), *more)


def wanted(made, router, node):
    """What a driver wants for a router and its addresses, a list."""
    found = dict.fromkeys(
        each for subject in (router.bare, *addresses(router).values())
        if type(subject) in made.SUBJECTS
        for each in made.resources(subject, node))
    told = contributions.merged(
        each for each in found if each.kind == resources.Problem.kind)
    return [*told, *filter(None, (
        contributions.complete(each, found)
        if each.kind == resources.Advertised.kind else each for each in found
        if each.kind != resources.Problem.kind))]


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
            dataclasses.replace(each, withheld=(
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
        dataclasses.replace(p, chassis=OTHER, local=False)
        for p in router.ports))


def snapshot(*routers, groups=(), **values):
    """A view with these routers."""
    routers = sorted(routers, key=lambda r: r.uuid)
    return model.Snapshot(
        node(**values), tuple(each.bare for each in routers), tuple(groups),
        addresses={each.uuid: addresses(each) for each in routers})
