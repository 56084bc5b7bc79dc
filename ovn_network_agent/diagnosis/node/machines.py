# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Check of the addresses of machines on provider networks."""

import typing

from ovn_network_agent import networks
from ovn_network_agent.conf import bridges
from ovn_network_agent.conf import plugins
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import words
from ovn_network_agent.drivers import announcing
from ovn_network_agent.drivers import segments


class Machines(typing.NamedTuple):
    """The addresses of machines here that are announced, or cannot be.

    :ivar announced: number of addresses
    :ivar networks: tuple of (name, why its addresses cannot be reached)
    :ivar outside: tuple of addresses in no subnet
    :ivar claimed: tuple of (address, who else has it)
    """

    announced: int
    networks: tuple = ()
    outside: tuple = ()
    claimed: tuple = ()


def read_machines(sources):
    """Take the machines on this chassis from the view: :class:`Machines`.

    :raises check.NotChecked: without a driver that announces them
    :raises ovsdb.connection.Unavailable: without a database
    """
    conf = sources.conf
    if not plugins.asked(conf, plugins.MACHINES):
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


def judge_machines(found):
    """A network whose machines cannot be reached is broken.

    :param found: :class:`Machines`
    """
    for called, why in found.networks:
        yield check.broken(
            f'network {called}: its machines here cannot be reached: {why}',
            'ovn-bridge-mappings, [DEFAULT] bridge_dev and further_bridges '
            'have to name one bridge for the network, and ovn-controller has '
            'to run')
    if found.outside:
        yield check.warn(
            f'{words.named(found.outside)}: in no subnet that OVN has of the '
            'network, and not announced',
            'name all provider networks in [DEFAULT] network_cidr')
    if found.claimed:
        named = [f'{address} ({who})' for address, who in found.claimed]
        yield check.warn(
            f'{words.named(named)}: something else has the address of a '
            'machine here, too, and comes first',
            'give one of them another address')
    if not (found.networks or found.outside or found.claimed):
        yield check.ok(f'{found.announced:d} addresses of machines are here')


CHECKS = (
    check.Check(
        'provider-machines', 'OVN', 'with the driver provider_port or evpn: '
        'the addresses of machines on provider networks here can be announced',
        read_machines, judge_machines,
        ('ovs-database', 'nb-database', 'sb-database', 'chassis')),
)
