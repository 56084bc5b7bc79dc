# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an address needs on this node.  Pure.

The drivers of the agent say that, from rows of OVN that were read just now and
from the configuration.  So a diagnosis needs no agent, and has no second
opinion of what the agent wants.
"""

import dataclasses

from ovn_network_agent import evpn_names
from ovn_network_agent import iptext
from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import port_forwards
from ovn_network_agent import resources
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.drivers import announcing


def wanting(about, drivers, owner, *subjects):
    """A subject with what drivers want for its address.

    :param about: :class:`subject.Subject`
    :param drivers: list of :class:`drivers.base.Driver`
    :param owner: UUID of the router or network of the address
    :param subjects: those of the drivers that concern the address
    """
    wanted = _answers(drivers, about.node, *subjects,
                      *(each for each in (about.provider,) if each))
    return dataclasses.replace(
        about, wanted=tuple(each for each in wanted
                            if concerns(each, about.address, about.prefix)),
        problems=_problems(wanted, about.address, owner),
        kept=any(each.kind == resources.Keep.kind and
                 about.prefix in each.of.key for each in wanted))


def without_ovn(address, device, node, drivers):
    """The objects that an address needs when the agent handles it here.

    This is for a moment at which OVN cannot be asked: what only OVN knows,
    such as the network of the address, is left out.

    :param address: IP address in canonical notation
    :param device: name of the provider bridge
    :param node: :class:`model.Node` with its devices
    :param drivers: list of :class:`drivers.base.Driver`
    :returns: :class:`subject.Subject`
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
            wanted.append(announcing.announcement(settings, node, prefix,
                                                  device))
            break
    return subjects.Subject(
        address, subjects.Kind.HANDLED, node,
        port=model.GatewayPort('', '', (), '', True, segment),
        wanted=tuple(each for each in wanted if each is not None))


def of_vip(vip, node, gateway, drivers):
    """The objects that a VIP needs.

    :param vip: :class:`port_forwards.Vip` with its present state
    :param node: :class:`model.Node`
    :param gateway: see :attr:`port_forwards.Forwards.gateway`
    :param drivers: list of :class:`drivers.base.Driver`
    :returns: :class:`subject.Subject`
    """
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
                       if each.kind == resources.Problem.kind))


def _answers(drivers, node, *subjects):
    """What drivers want for some subjects, a list."""
    return [each for driver in drivers for subject in subjects
            if type(subject) in driver.SUBJECTS
            for each in driver.resources(subject, node)]


def _problems(wanted, address, owner):
    """The problems of an address, those of this address alone first."""
    found = [each for each in wanted if each.kind == resources.Problem.kind
             and _mentions(each, address, owner)]
    return tuple(each.naming(each.addresses).text for each in sorted(
        found, key=lambda each: not each.addresses))


def _mentions(problem, address, owner):
    """Whether a problem is about an address, or about all of its owner."""
    if problem.addresses:
        return address in problem.addresses
    return problem.router in ('', owner)


def concerns(resource, address, prefix=''):
    """Whether a wanted resource concerns the packets of an address.

    :param resource: :class:`resources.Resource`
    :param address: IP address
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


def _of_family(rule, family):
    """Whether the kernel has a rule in the list of a family.

    :param rule: :class:`resources.Rule`
    :param family: 4 or 6
    """
    prefix = rule.src or rule.dst
    return (networks.family(prefix) == family if prefix
            else bool(rule.ipv6) == (family == 6))


def _covered(prefixes, address):
    return any(_covers(prefix, address) for prefix in prefixes)


def _covers(prefix, address):
    """Whether a prefix has an address in it; None has all."""
    if prefix is None:
        return True
    network, ip = iptext.network(prefix), iptext.address(address)
    return network.version == ip.version and ip in network
