# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A small stateful world in the place of kernel, FRR and OVN.

Its backends keep objects, and fail where a test says so.
"""

import functools
from importlib import metadata
import threading

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf import settings
from ovn_network_agent.engine import contributions
from ovn_network_agent.tests import configs
from ovn_network_agent.tests.unit import cloud

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
        each for subject in (router.bare, *cloud.addresses(router).values())
        if type(subject) in made.SUBJECTS
        for each in made.resources(subject, node))
    told = contributions.merged(
        each for each in found if each.kind == resources.Problem.kind)
    return [*told, *filter(None, (
        contributions.complete(each, found)
        if each.kind == resources.Advertised.kind else each for each in found
        if each.kind != resources.Problem.kind))]
