# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The network of a tenant that has an address, and what follows.  Pure."""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses

from ovn_network_agent import model
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis import finding
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import needs
from ovn_network_agent.diagnosis.address import routers
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers import tenant_network
from ovn_network_agent.model import wiring as wirings
from ovn_network_agent.ovn import snapshot
from ovn_network_agent.ovn.subjects import tenant_hosts
from ovn_network_agent.ovsdb import columns

_CHECK = 'tenant-network'
_HOSTS = ('only addresses of machines that are up, and with the driver '
          'load_balancer virtual IPs, are announced ([tenant_network] '
          'advertisement_method is host)')
# By what the agent says, because only the agent knows who was first.
_CLAIMS = {'announced': model.Claim.FIRST, 'omitted': model.Claim.REFUSED}


def make(asked: str, builder: snapshot.Builder, nb: columns.Tables,
         sb: columns.Tables, wiring: wirings.Wiring,
         drivers: Sequence[base.Driver], status: facts.StatusOf
         ) -> list[subjects.Subject]:
    """Find the network of an address or prefix, and what has to exist for it.

    :param asked: address or prefix in canonical notation
    :returns: that outside of VNIs, of kind NOBODY without a network there, and
        those in VNIs
    """
    seen = routers.view(builder, nb, sb, wiring)
    found = [(router, _one(asked, whole, hosts)) for router in seen.routers
             for whole, hosts in builder.behind(router)
             if networks.covers(whole.prefix, asked)]
    address = str(next(iter(ip_text.network(asked).hosts())))
    about = subjects.Subject(address, node=seen.node, own=builder.own,
                             asked=asked if '/' in asked else '')
    places: dict[int, list[tuple[model.Router, model.TenantPrefix]]] = {0: []}
    for each in found:
        places.setdefault(each[1].port.domain, []).append(each)
    return [_of_networks(asked, about, sb, drivers, seen, each, status(vni))
            for vni, each in sorted(places.items())]


def _of_networks(asked: str, about: subjects.Subject, sb: columns.Tables,
                 drivers: Sequence[base.Driver], seen: model.Snapshot,
                 found: list[tuple[model.Router, model.TenantPrefix]],
                 status: agent.Answer | readers.Unread | None
                 ) -> subjects.Subject:
    answer = status if isinstance(status, dict) else {}
    if not found:
        return about
    # Networks in different scopes may have the same prefix.
    (router, tenant), *others = sorted(found, key=lambda each: (
        each[0].uuid != answer.get('router'), each[1].address != asked,
        not each[1].announced, not each[1].port.local))
    if tenant.rivals:
        tenant = dataclasses.replace(tenant, claim=_CLAIMS.get(
            answer.get('state', ''), model.Claim.UNKNOWN))
    return needs.wanting(dataclasses.replace(
        about, kind=subjects.Kind.TENANT, router=router, port=tenant.port,
        owner=routers.hostname(sb, tenant.port.chassis),
        withheld=tenant.withheld, tenant=tenant,
        provider=routers.provider(seen, tenant.port),
        also=tuple(each for _router, each in others)), drivers, router.uuid,
        seen.node, router, tenant)


def _one(asked: str, whole: model.TenantPrefix,
         hosts: Iterable[tenant_hosts.Host] | None) -> model.TenantPrefix:
    """What is announced for an address or prefix of a network."""
    if hosts is None:
        return whole
    return next((each for _prefix, each
                 in tenant_hosts.prefixes(whole, hosts, {})
                 if each.address == asked),
                dataclasses.replace(whole, withheld=_HOSTS))


def judge(subject: subjects.Subject) -> finding.Finding:
    """The finding whose a network is, and whether it may be announced."""
    tenant = subjects.certain(subject.tenant)
    text = (f'{f"virtual IP {tenant.address} in " if tenant.vip else ""}'
            f'{tenant.subnet} of network {tenant.network} behind router '
            f'{tenant.called}')
    others = [each.called for each in subject.also
              if isinstance(each, model.TenantPrefix)]
    if others:
        text += (f' (also behind {len(others):d} other routers, such as '
                 f'{others[0]})')
    if tenant.withheld:
        return verdicts.warn(
            _CHECK, f'{text}: not announced on purpose: {tenant.withheld}',
            'to have it announced, change what this names')
    wrong = tenant_network.fault(tenant)
    if wrong:
        return verdicts.warn(_CHECK, f'{text} {wrong.text}; {wrong.outcome}',
                             wrong.remedy)
    return verdicts.ok(_CHECK, f'{text}; nothing withholds it')
