# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Judges of what OVN has for an address.  Pure."""

from collections.abc import Sequence

from ovn_network_agent import diagnosis
from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import evpn
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import owners
from ovn_network_agent.diagnosis.address import ports
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import northbound
from ovn_network_agent.drivers.common import segments

Kind = subjects.Kind
# ovn-nbctl takes an unquoted colon for the end of the key.
_MARK = ownership.EXT_ID_ANNOUNCE.replace(':', '\\:')


def judge(facts: facts.Facts) -> list[diagnosis.Finding]:
    """The findings from the row of the address to the default route."""
    if facts.databases is not None:
        return [verdicts.unchecked('nat-row', str(facts.databases)),
                agent(facts)]
    if facts.subject.kind is Kind.NOBODY:
        further = ''.join(
            text for drivers, text in (
                ({'provider_port', 'evpn'}, ', port of a machine'),
                ({'tenant_network'}, ', network of a tenant behind a gateway '
                 f'of IPv{facts.version:d}'))
            if drivers & {*facts.setup.drivers})
        return [verdicts.broken(
            'nat-row', f'no NAT row, router port{further}, load balancer or '
            f'VIP has {facts.subject.called}', 'create the floating IP, or '
            'associate it with a port: "openstack floating ip list '
            f'--floating-ip-address {facts.subject.address}"')]
    found = ports.judge(facts.subject) if facts.subject.binding else [
        owners.judge_tenant(facts.subject) if facts.subject.tenant
        else _nat(facts.subject),
        _router(facts.subject), gateway_port(facts)]
    if not facts.subject.here and isinstance(facts.status, dict):
        # A handover is under way, for example.
        found.append(agent(facts))
    if facts.subject.here:
        nowhere = _nowhere(facts.subject, facts.inner_address)
        if nowhere is not None:
            found.append(nowhere)
        elif facts.subject.kind is Kind.FIP and facts.subject.machine:
            found.append(_machine_behind(facts.subject.machine))
        if getattr(facts.subject.port or facts.subject.network, 'vni', None):
            found.append(evpn.of_network(facts))
        found += [_segment(facts), agent(facts)]
        if not (facts.subject.tenant and facts.subject.withheld):
            found.append(wanted(facts))
        if facts.subject.router is not None:
            found.append(default_route(facts))
    return found


def _nat(subject: subjects.Subject) -> diagnosis.Finding:
    nat = subject.nat
    if len(subject.claims) > 1:
        return verdicts.several_claims(subject)
    if nat is None:
        return verdicts.ok('nat-row', f'{subject.kind.value}; no NAT row is '
                                      'needed')
    return verdicts.ok('nat-row', f'{nat.type} {nat.external_ip} - '
                                  f'{nat.logical_ip}')


def _router(subject: subjects.Subject) -> diagnosis.Finding:
    names = subjects.certain(subject.router).both_names
    if subject.port is None:
        return verdicts.broken(
            'router', f'{names} has no gateway port',
            'set an external gateway: "openstack router set '
            '--external-gateway NETWORK ROUTER"')
    return verdicts.ok('router', f'{names} with port '
                                 f'{subject.port.lrp}')


def gateway_port(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the chassis of the gateway port."""
    subject = facts.subject
    port, node = subject.port, subjects.certain(subject.node)
    if subject.kind is Kind.DISTRIBUTED:
        return _machine(subject)
    if port is None:
        return verdicts.unchecked('gateway-port', 'no gateway port')
    if not port.chassis:
        return verdicts.broken(
            'gateway-port', f'cr-{port.lrp} is bound to no chassis',
            'look at its candidates: "ovn-nbctl lrp-get-gateway-chassis '
            f'{port.lrp}", and start ovn-controller on one of them')
    if subject.own.problem:
        return verdicts.warn('gateway-port', f'cr-{port.lrp} is bound to '
                             f'{subject.owner}; {subject.own.problem}',
                             subject.own.remedy)
    if port.chassis != node.chassis:
        return verdicts.ok('gateway-port', f'on {subject.owner}, which has '
                                           'to announce the address; '
                                           'ask there')
    if not port.local:
        return verdicts.broken(
            'gateway-port', f'cr-{port.lrp} is here, but the agent follows '
            f'only {facts.setup.gateway_port}',
            'set [DEFAULT] gateway_port to nothing')
    return verdicts.ok('gateway-port', f'cr-{port.lrp} is here '
                                       f'({node.hostname})')


def _machine(subject: subjects.Subject) -> diagnosis.Finding:
    """The chassis of the machine of a distributed floating IP."""
    machine = subjects.certain(subject.machine)
    resident = subjects.certain(subject.nat).resident
    if not machine.host:
        return verdicts.broken(
            'gateway-port', f'distributed: port {machine.port} of its machine '
            'is bound to no chassis, and no other chassis answers',
            'start the machine, and look at ovn-controller on its node; '
            f'"ovn-nbctl clear NAT {machine.nat} external_mac" has the '
            'gateway answer for this address')
    if not resident and (
            machine.chassis == subjects.certain(subject.node).chassis):
        return verdicts.broken(
            'gateway-port', f'distributed: port {machine.port} is here, and '
            'is not up', 'look at the machine, and at the log of '
            'ovn-controller for its port')
    if not resident:
        return verdicts.ok(
            'gateway-port', f'distributed: port {machine.port} of its machine '
            f'is on {machine.host}, whose agent has to announce the address; '
            'ask there')
    return verdicts.ok('gateway-port', f'distributed: port {machine.port} of '
                                       'its machine is here')


def _machine_behind(machine: subjects.Machine) -> diagnosis.Finding:
    """Another machine may answer for a port that no chassis has."""
    if machine.host:
        return verdicts.ok('machine', f'port {machine.port} is on '
                                      f'{machine.host}')
    return verdicts.warn(
        'machine', f'port {machine.port} is bound to no chassis, so no '
        'machine answers, unless another one has the address of the port as '
        'an allowed address',
        f'"openstack port show {machine.port}" names the machine: start it, '
        'or look at ovn-controller on its node')


def _nowhere(subject: subjects.Subject,
             inner: northbound.InnerAddress | readers.Unread | None
             ) -> diagnosis.Finding | None:
    if isinstance(inner, readers.Unread):
        return verdicts.unread('machine', inner)
    if inner is None or inner.port:
        return None
    nat = subjects.certain(subject.nat)
    router = subjects.certain(subject.router)
    row = f'the NAT row leads to {nat.logical_ip}'
    remedy = (f'"openstack floating ip unset --port {subject.address}" takes '
              'the floating IP from the port that is gone, and "openstack '
              'floating ip set --port" gives it to another one; without '
              f'Neutron: "ovn-nbctl lr-nat-del {router.name} '
              f'{nat.type} {subject.address}"')
    if not inner.network:
        return verdicts.broken(
            'machine', f'{row}, which is in no network of '
            f'{router.called}', remedy)
    if inner.judged:
        return verdicts.broken(
            'machine', f'{row}, which no port in {inner.network} has',
            remedy)
    return verdicts.warn(
        'machine', f'{row} in {inner.network}, and no port in OVN has this '
        'address: only a host that OVN does not know could answer', remedy)


def _segment(facts: facts.Facts) -> diagnosis.Finding:
    segment = facts.subject.segment
    why = segments.objection(segment, facts.setup.bridges)
    if why or segment is None:
        return verdicts.broken(
            'segment', why, 'correct ovn-bridge-mappings ("ovs-vsctl get '
            'Open_vSwitch . external_ids"), or [DEFAULT] bridge_dev and '
            'further_bridges, and see that ovn-controller runs')
    return verdicts.ok(
        'segment', f'{segment.physical_network} on {segment.device}, patch '
        f'port {segment.patch_port} ({segment.localnet_port})')


def agent(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the running agent."""
    answer = facts.agent
    if isinstance(answer, readers.Unread):
        return verdicts.warn(
            'agent', f'{answer}; the wanted state was computed without it',
            'start the agent, or look at its log: "systemctl status '
            'ovn-network-agent"')
    phase, reasons = answer.get('phase'), answer.get('degraded', [])
    if phase not in (None, 'running'):
        return verdicts.warn('agent', f'its phase is {phase}',
                             'wait until it runs, or look at its log')
    if reasons:
        return verdicts.warn('agent', f'degraded: {reasons[0]}' + (
            f' (and {len(reasons) - 1} more)' if len(reasons) > 1 else ''),
            '"ovn-network-agent-ctl status" has all reasons; the agent looks '
            'again after seconds, and the lines after this are of now')
    return _status(facts)


def _status(facts: facts.Facts) -> diagnosis.Finding:
    found = facts.status
    if isinstance(found, readers.Unread):
        return verdicts.ok('agent', 'runs, and is not degraded')
    if found is None:
        return verdicts.warn(
            'agent', 'runs, and has nothing to do with this address',
            'ask again; if it stays so, have the agent read everything '
            'again: "systemctl restart ovn-network-agent"')
    text = ': '.join(filter(None, (found.get('state', ''),
                                   found.get('why', ''))))
    if facts.subject.withheld and found.get('state') == 'omitted':
        return verdicts.ok('agent', f'runs; {text}')
    if found.get('state') != 'announced':
        return verdicts.warn(
            'agent', text, '"ovn-network-agent-ctl addresses '
            f'{facts.subject.address}" shows each of its resources')
    return verdicts.ok('agent', f'runs; {text}, since {found.get("since")}')


def wanted(facts: facts.Facts) -> diagnosis.Finding:
    """The finding whether the agent wants to announce the address."""
    subject, setup = facts.subject, facts.setup
    if subject.withheld:
        return _withheld(subject)
    if subject.announcement is not None:
        return verdicts.ok(
            'wanted', f'to be announced as {subject.prefix} ({setup.method} '
            'route' + (f' in VNI {subject.vni:d}' if subject.vni else '') + (
                f' with tag {subject.tag}' if subject.tag else '') +
            ')')
    if subject.problems:
        return verdicts.problem('wanted', subject.problems[0])
    if not (subject.binding or subject.vni) and (
            'fip_route' not in setup.drivers):
        return verdicts.broken('wanted', 'the driver fip_route is off',
                               'add it to [DEFAULT] drivers')
    if subject.vni:
        return verdicts.broken(
            'wanted', 'the agent keeps what there is, and announces nothing '
            'new', verdicts.RESTORE)
    if setup.networks and not networks.inside(
            subject.nexthop, networks.provider_networks((), setup.networks)):
        return verdicts.broken(
            'wanted', 'in none of the networks of [DEFAULT] network_cidr = '
            f'{", ".join(setup.networks)}',
            'add its network to [DEFAULT] network_cidr, or set that to '
            'nothing')
    if setup.vrf and subjects.certain(
            subject.node).device(setup.vrf) is None:
        return verdicts.broken(
            'wanted', f'the VRF {setup.vrf} does not exist',
            f'"ip link add {setup.vrf} type vrf table NUMBER", and "ip link '
            f'set {setup.vrf} up"')
    return verdicts.broken(
        'wanted', 'the agent keeps what there is, and announces nothing new'
        if subject.kept else 'no driver announces it, since it is in no '
        'network of the gateway port',
        'name all provider networks in [DEFAULT] network_cidr')


def _withheld(subject: subjects.Subject) -> diagnosis.Finding:
    if subject.binding is not None:
        remedy = ('to have it announced, change that; or set external_ids:'
                  f'{ownership.EXT_ID_ANNOUNCE}=true in its row of '
                  f'Logical_Switch_Port, {subject.binding.name}, which wins '
                  'over networks and options')
    elif subjects.certain(subject.router).routed_by_ovn:
        remedy = ('to have the agent announce it, too: "ovn-nbctl set '
                  f'Logical_Router {subjects.certain(subject.router).name} '
                  f"'options:{_MARK}=true'\"")
    else:
        remedy = ('to have it announced, change that; or set external_ids:'
                  f'{ownership.EXT_ID_ANNOUNCE}=true in '
                  f'{"its NAT row" if subject.nat else "the router port"}, '
                  'which wins over routers, networks and options')
    return verdicts.warn(
        'wanted', f'not announced on purpose: {subject.withheld}', remedy)


def default_route(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the router's default route in OVN."""
    subject = facts.subject
    router = subjects.certain(subject.router)
    node = subjects.certain(subject.node)
    if router.routed_by_ovn:
        return verdicts.unchecked('default-route', 'it is left to OVN')
    version = networks.family(subject.address)
    routes = [each for each in router.default_routes
              if networks.family(each.prefix) == version]
    foreign = [each for each in routes if not each.managed]
    if foreign:
        return verdicts.ok('default-route', f'via {foreign[0].nexthop}, '
                                            "not the agent's")
    needed = [each for each in subject.wanted_of(resources.DefaultRoute)
              if networks.family(each.prefix) == version]
    if not needed and subject.kind is Kind.DISTRIBUTED and not (
            subjects.certain(subject.port).local):
        return _of_the_gateway(subject, router, routes)
    if not needed:
        return verdicts.unchecked('default-route',
                                  'the agent wants none through this port')
    route = needed[0]
    there = [each for each in routes
             if each.nexthop == route.nexthop and
             each.output_port == route.lrp]
    remedy = ('start the agent, or read its log for what NB refuses: '
              '"journalctl -u ovn-network-agent"')
    if not there:
        return verdicts.broken(
            'default-route', f'{router.called} has no default route '
            f'via {route.nexthop}, so it cannot reply', remedy)
    binding = next((mac for lrp, ip, mac in facts.bindings
                    if (lrp, ip) == (route.lrp, route.nexthop)), None)
    if binding is None:
        return verdicts.broken(
            'default-route', f'no static MAC binding for {route.nexthop}, '
            'so OVN does not know where to send replies', remedy)
    tag, proof = there[0].owner, there[0].advertised
    evidence = (f'via {route.nexthop} ({binding}), '
                f'of {_named(tag, node)}, '
                f'{"announced by " + proof if proof else "no proof yet"}')
    if tag not in node.marks:
        return verdicts.warn('default-route', f'{evidence}: the mark is of '
                                              'another chassis', remedy)
    return verdicts.ok('default-route', evidence)


def _named(owner: ownership.Owner, node: model.Node) -> str:
    """The host name of a chassis, with its name where others have it, too."""
    return (str(owner) if owner.hostname == node.hostname and node.namesakes
            else owner.hostname)


def _of_the_gateway(subject: subjects.Subject, router: model.Router,
                    routes: Sequence[model.NbDefaultRoute]
                    ) -> diagnosis.Finding:
    """The finding about a route that the agent of the gateway makes."""
    if routes:
        return verdicts.ok(
            'default-route', f'via {routes[0].nexthop}, of '
            f'{_named(routes[0].owner, subjects.certain(subject.node))}')
    return verdicts.broken(
        'default-route', f'{router.called} has no default route, so '
        'the machine cannot reply',
        'see that the agent runs on the chassis of its gateway port '
        f'cr-{subjects.certain(subject.port).lrp}, which makes the route')
