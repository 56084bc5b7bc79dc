# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Check of the networks of tenants that are announced without NAT."""

import typing

from ovn_network_agent import networks
from ovn_network_agent.conf import plugins
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import words
from ovn_network_agent.drivers import announcing
from ovn_network_agent.drivers import tenant_network


class Tenants(typing.NamedTuple):
    """The networks behind routers here.

    :ivar announced: number of prefixes and addresses that nothing withholds
    :ivar faults: dict of (what is wrong, remedy) to texts of networks
    """

    announced: int
    faults: dict


def read_tenants(sources):
    """Take the networks of tenants from the view: :class:`Tenants`.

    :raises check.NotChecked: without a driver that announces them
    :raises ovsdb.connection.Unavailable: without a database
    """
    conf = sources.conf
    if not plugins.asked(conf, plugins.TENANTS):
        raise check.NotChecked('[DEFAULT] drivers has no tenant_network')
    found = [each for known in sources.snapshot().tenants.values()
             for each in known.values() if not each.withheld]
    faults = {}
    for each in found:
        wrong = tenant_network.fault(each, networks.inside(
            each.via, announcing.provider_networks(conf, each.port)))
        if wrong:
            faults.setdefault((wrong.text, wrong.remedy), []).append(
                f'{each.prefix} of network {each.network} (router '
                f'{each.called})')
    return Tenants(len(found), faults)


def judge_tenants(found):
    """A network that is not announced, or may not be, is a warning.

    :param found: :class:`Tenants`
    """
    for (text, remedy), called in found.faults.items():
        yield check.warn(f'{words.named(called)}: {text}', remedy)
    if not found.faults:
        yield check.ok(f'{found.announced:d} prefixes of tenants can be '
                       'announced from here')


CHECKS = (
    check.Check(
        'tenant-networks', 'OVN', 'with the driver tenant_network: no network '
        'of a tenant here overlaps with another one',
        read_tenants, judge_tenants,
        ('ovs-database', 'nb-database', 'sb-database', 'chassis')),
)
