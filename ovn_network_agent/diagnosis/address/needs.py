# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an address needs on this node.  Pure.

The drivers of the agent say that, from present rows and the configuration.  So
a diagnosis needs no agent, and has no second opinion of what it wants.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import typing

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.model import evpn_names
from ovn_network_agent.model import port_forwards


def wanting(about: subjects.Subject, drivers: Sequence[base.Driver],
            owner: str, *of_drivers: object) -> subjects.Subject:
    """A subject with what drivers want; owner: UUID of router or network."""
    wanted = _answers(drivers, subjects.certain(about.node), *of_drivers,
                      *(each for each in (about.provider,) if each))
    return dataclasses.replace(
        about, wanted=tuple(each for each in wanted
                            if concerns(each, about.address, about.prefix)),
        problems=_problems(wanted, about.address, owner),
        kept=any(isinstance(each, resources.Keep) and
                 about.prefix in each.of.key for each in wanted))


def without_ovn(address: str, device: str, node: model.Node,
                drivers: Sequence[base.Driver]) -> subjects.Subject:
    """The objects that an address needs, without those that only OVN knows.

    This is for a moment at which OVN cannot be asked.
    """
    mac = next((each.mac for each in node.devices if each.name == device), '')
    segment = model.Segment('', '', '', 0, device, device, mac)
    prefix = networks.host_prefix(address)
    wanted = [each for each in _answers(drivers, node, node)
              if concerns(each, address)]
    for driver in drivers:
        settings = driver.settings
        if driver.name in ('fip_route', 'provider_port'):
            wanted += [resources.KernelRoute(
                settings.fip_route.route_table_id or resources.MAIN_TABLE,
                prefix, device)] if settings.frr.vrf_name else []
            announced = announcing.announcement(settings, node, prefix, device)
            wanted += [announced] if announced else []
            break
    return subjects.Subject(
        address, subjects.Kind.HANDLED, node,
        port=model.GatewayPort('', '', (), '', True, segment),
        wanted=tuple(wanted))


def of_vip(vip: port_forwards.Vip, node: model.Node, gateway: bool | None,
           drivers: Sequence[base.Driver]) -> subjects.Subject:
    """The objects that a VIP in its present state needs."""
    forwards = port_forwards.Forwards((vip,), gateway)
    wanted = _answers(drivers, node, forwards)
    way = [each for each in _answers(drivers, node, node)
           if concerns(each, vip.address)]
    return subjects.Subject(
        vip.address, subjects.Kind.VIP, node, vip=vip,
        wanted=tuple(dict.fromkeys(
            each for each in (*wanted, *way)
            if each.kind not in (resources.Problem.kind,
                                 resources.Keep.kind))),
        problems=tuple(each.text for each in wanted
                       if isinstance(each, resources.Problem)))


def _answers(drivers: Sequence[base.Driver], node: model.Node,
             *subjects: object) -> list[resources.Resource]:
    return [each for driver in drivers for subject in subjects
            if type(subject) in driver.SUBJECTS
            for each in driver.resources(subject, node)]


def _problems(wanted: Iterable[resources.Resource], address: str, owner: str
              ) -> tuple[str, ...]:
    """The problems of an address, those of this address alone first."""
    found = [each for each in wanted if isinstance(each, resources.Problem)
             and _mentions(each, address, owner)]
    return tuple(each.naming(each.addresses).text for each in sorted(
        found, key=lambda each: not each.addresses))


def _mentions(problem: resources.Problem, address: str, owner: str) -> bool:
    """Whether a problem is about an address, or about all of its owner."""
    if problem.addresses:
        return address in problem.addresses
    return problem.router in ('', owner)


def concerns(resource: typing.Any, address: str, prefix: str = '') -> bool:
    """Whether a wanted resource concerns the packets of an address.

    :param prefix: what is announced for it, '' for its host prefix
    """
    prefix = prefix or networks.host_prefix(address)
    family = networks.family(address)
    if resource.kind in (resources.Problem.kind, resources.Keep.kind):
        return False
    if resource.kind in (resources.Rule.kind, resources.VniRule.kind):
        return (resource.fwmark is None and _of_family(resource, family) and
                _covers(resource.src, address) and
                _covers(resource.dst, address))
    if resource.kind == resources.PrefixListEntry.kind:
        return _covers(resource.network, address)
    if resource.kind == resources.RouterAdvertisement.kind:
        return _covered(resource.prefixes, address)
    if resource.kind == resources.Flow.kind:
        return resource.family == family and resource.dst in (
            None, prefix)
    if resource.kind in (resources.Address.kind, resources.Neighbour.kind,
                         resources.NeighbourProxy.kind):
        return networks.family(getattr(resource, 'dst', None) or
                               resource.address) == family
    if resource.subject:
        return evpn_names.prefix_of(resource.subject) == prefix
    if resource.kind == resources.KernelRoute.kind:
        return networks.family(resource.dst) == family
    return True


def _of_family(rule: resources.Rule, family: int) -> bool:
    """Whether the kernel has a rule in the list of a family."""
    prefix = rule.src or rule.dst
    return (networks.family(prefix) == family if prefix
            else bool(rule.ipv6) == (family == 6))


def _covered(prefixes: Iterable[str], address: str) -> bool:
    return any(_covers(prefix, address) for prefix in prefixes)


def _covers(prefix: str | None, address: str) -> bool:
    """Whether a prefix has an address in it; None has all."""
    if prefix is None:
        return True
    network, ip = ip_text.network(prefix), ip_text.address(address)
    return network.version == ip.version and ip in network
