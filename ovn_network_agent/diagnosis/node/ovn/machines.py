# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the addresses of machines, and of the networks of tenants."""

from collections.abc import Iterator
import typing

from ovn_network_agent.common import networks
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf.options import bridges
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.drivers import tenant_network
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.drivers.common import segments


class Machines(typing.NamedTuple):
    """The addresses of machines here that are announced, or cannot be."""

    announced: int
    # (name, why its addresses cannot be reached).
    networks: tuple[tuple[str, str], ...] = ()
    outside: tuple[str, ...] = ()  # addresses in no subnet
    claimed: tuple[tuple[str, str], ...] = ()  # (address, who else has it)


def read_machines(sources: sources.Sources) -> Machines:
    """Take the machines on this chassis from the view."""
    conf = sources.conf
    if not plugins.requested(conf, plugins.MACHINES):
        raise check.NotChecked('[DEFAULT] drivers has neither '
                               'provider_port nor evpn')
    view, served = sources.snapshot(), bridges.served(conf)
    found = [each for known in view.machines.values()
             for each in known.values() if not each.withheld]
    return Machines(
        sum(1 for _each in announcing.of_machines(conf, view)),
        tuple((each.called, segments.objection(each.segment, served))
              for each in view.networks.values()
              if (each.named or segments.located(each.segment, served)) and
              not segments.usable(each.segment, served)),
        tuple(each.address for each in found
              if not conf.network_cidr and not networks.inside(
                  each.address,
                  announcing.provider_networks(conf, each.network))),
        tuple((each.address, each.claimed) for each in found
              if each.claimed))


def judge_machines(found: Machines) -> Iterator[check.Result]:
    """A network whose machines cannot be reached is broken."""
    for called, why in found.networks:
        yield check.broken(
            f'network {called}: its machines here cannot be reached: {why}',
            'ovn-bridge-mappings, [DEFAULT] bridge_dev and further_bridges '
            'have to name one bridge for the network, and ovn-controller has '
            'to run')
    if found.outside:
        yield check.warn(
            f'{check.named(found.outside)}: in no subnet that OVN has of the '
            'network, and not announced',
            'name all provider networks in [DEFAULT] network_cidr')
    if found.claimed:
        named = [f'{address} ({who})' for address, who in found.claimed]
        yield check.warn(
            f'{check.named(named)}: something else has the address of a '
            'machine here, too, and comes first',
            'give one of them another address')
    if not (found.networks or found.outside or found.claimed):
        yield check.ok(f'{found.announced:d} addresses of machines are here')


class Tenants(typing.NamedTuple):
    """The networks behind routers here."""

    announced: int  # number of prefixes and addresses that nothing withholds
    # By (what is wrong, remedy): texts of networks.
    faults: dict[tuple[str, str], list[str]]


def read_tenants(sources: sources.Sources) -> Tenants:
    """Take the networks of tenants from the view."""
    conf = sources.conf
    if not plugins.requested(conf, plugins.TENANTS):
        raise check.NotChecked('[DEFAULT] drivers has no tenant_network')
    found = [each for known in sources.snapshot().tenants.values()
             for each in known.values() if not each.withheld]
    faults: dict[tuple[str, str], list[str]] = {}
    for each in found:
        wrong = tenant_network.fault(each, networks.inside(
            each.via, announcing.provider_networks(conf, each.port)))
        if wrong:
            faults.setdefault((wrong.text, wrong.remedy), []).append(
                f'{each.prefix} of network {each.network} (router '
                f'{each.called})')
    return Tenants(len(found), faults)


def judge_tenants(found: Tenants) -> Iterator[check.Result]:
    """A network that is not announced, or may not be, is a warning."""
    for (text, remedy), called in found.faults.items():
        yield check.warn(f'{check.named(called)}: {text}', remedy)
    if not found.faults:
        yield check.ok(f'{found.announced:d} prefixes of tenants can be '
                       'announced from here')


CHECKS = (
    check.Check(
        'provider-machines', 'OVN', 'with the driver provider_port or evpn: '
        'the addresses of machines on provider networks here can be announced',
        read_machines, judge_machines,
        ('ovs-database', 'nb-database', 'sb-database', 'chassis')),
    check.Check(
        'tenant-networks', 'OVN', 'with the driver tenant_network: no network '
        'of a tenant here overlaps with another one',
        read_tenants, judge_tenants,
        ('ovs-database', 'nb-database', 'sb-database', 'chassis')),
)
