# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Facts about a floating IP of which everything is as it has to be."""

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import gathering
from ovn_network_agent.diagnosis.address import ports
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.diagnosis.readers import kernel
from ovn_network_agent.diagnosis.readers import packets
from ovn_network_agent.diagnosis.readers import sources
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.frr import output
from ovn_network_agent.frr import prefix_list_lines
from ovn_network_agent.model import port_forwards
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import lookups
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.nft import filters
from ovn_network_agent.openflow import trace_text
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world

FIP = '198.51.100.10'
CLIENT = '203.0.113.10'
FIP6 = '2001:db8:100::10'
CLIENT6 = '2001:db8:c::10'
# By family: the client, the provider network, the virtual gateway, the next
# hops to the ends of the pair, and that of the fabric.
CLIENTS = {4: CLIENT, 6: CLIENT6}
NETWORKS = {4: '198.51.100.0/24', 6: '2001:db8:100::/64'}
GATEWAYS = {4: '198.51.100.254', 6: ownership.SEGMENT_LINK_LOCAL}
PAIR = {4: ('169.254.0.1', '169.254.0.2'), 6: ownership.VETH_LINK_LOCAL}
FABRIC = {4: '172.31.1.1', 6: 'fe80::1'}
MACS = {'br-ex': cloud.BRIDGE_MAC, 'vrf-provider': '0a:00:00:00:00:02',
        ownership.VETH_DEFAULT: '0a:00:00:00:00:03',
        ownership.VETH_PROVIDER: '0a:00:00:00:00:04'}
INDEXES = {name: index for index, name in enumerate(MACS, 2)}
RUNNING = {'phase': 'running', 'degraded': []}
BGP = {'path': (True, True, ('172.31.1.1',)),
       'neighbours': (frr.Neighbour('172.31.1.1', 'Established'),),
       'filters': filters.Found()}


def case(address=FIP, router=None, **options):
    """Facts about a floating IP of a router that is here.

    :param address: of one of the NETWORKS; the router has IPv6 with IPv6
    :param router: dict of further values of the :class:`model.Router`
    :param options: of the configuration, see :func:`world.conf`
    :returns: :class:`facts.Facts`
    """
    conf = world.conf(**options)
    return facts_of(subject_of(address, conf, router or {}), conf)


def machine(address=FIP, binding=None, found=None, **options):
    """Facts about an address of a machine that is here.

    :param binding: dict of further values of the :class:`ports.Port`
    :param found: dict of further values of the :class:`model.PortAddress`;
        None: the machine is not here, or its port is left out
    """
    conf = world.conf(**{'drivers': ['provider_port', 'veth_leak'], **options})
    node, about = cloud.node(), subject.Subject(
        address, subject.Kind.MACHINE, cloud.node(), owner='gw2',
        binding=ports.Port(**{
            'name': 'vm-1', 'network': 'public', 'mac': 'fa:16:3e:00:00:aa',
            'host': 'gw2', **(binding or {})}))
    if found is None:
        return facts.Facts(gathering.setup(conf, CLIENT), about, agent=RUNNING)
    of = cloud.machine(address, **{'network': cloud.network(
        networks=(NETWORKS[networks.family(address)],)), **found})
    return facts_of(subject.wanting(
        about._replace(
            owner=cloud.HOSTNAME, found=of, withheld=of.withheld,
            binding=about.binding._replace(here=True, host=cloud.HOSTNAME)),
        [world.driver(name, conf) for name in conf.drivers],
        of.network.uuid, node, of.network, of), conf)


def tenant(address='10.0.0.5', asked='', **found):
    """Facts about an address in a network of a tenant.

    :param asked: the prefix that was asked for, '' for the address
    :param found: further values of the :class:`model.TenantPrefix`
    """
    conf = world.conf(drivers=['fip_route', 'veth_leak', 'tenant_network'])
    of, base = cloud.tenant(**found), subject_of(FIP, conf, {})
    return facts_of(subject.wanting(
        base._replace(
            address=address, asked=asked, kind=subject.Kind.TENANT,
            nat=None, port=of.port, tenant=of, withheld=of.withheld,
            owner=cloud.HOSTNAME if of.port.local else 'gw2'),
        [world.driver(name, conf) for name in conf.drivers],
        of.router, base.node, base.router.bare, of), conf)


def facts_of(about, conf):
    """Facts about an address of which everything is as it has to be."""
    address, version = about.address, networks.family(about.address)
    client = CLIENTS[version]
    return facts.Facts(
        gathering.setup(conf, client), about,
        agent=RUNNING,
        bindings=(('lrp-1', GATEWAYS[version], cloud.BRIDGE_MAC),),
        flows=flows_of(about),
        packet_traces=tuple(
            packet_trace(each, about) for each in packets.for_address(
                address, client, about.segment, about.mac)),
        kernel=kernel_of(about, conf), zebra=((
            conf.fip_route.announce_method, True, True, PAIR[version][0]),),
        lists=dict.fromkeys(('zebra', 'bgpd'), (_entry(about),)), **BGP)


def _entry(about):
    """The line of the prefix list that permits what is announced."""
    if about.tenant is not None and about.tenant.prefix == (
            about.tenant.subnet):
        return output.Entry(1000000000, 'permit', about.prefix, None, None)
    network = NETWORKS[networks.family(about.address)]
    return output.Entry(1000000000, 'permit', network,
                        *prefix_list_lines.hosts(network))


def packet_trace(packet, about, *steps):
    """A packet on its way through the provider bridge.

    :param packet: :class:`packets.Packet`
    :param about: :class:`subject.Subject`
    :param steps: tables that the packet crosses, and the last one keeps it;
        without them, the packet arrives
    :returns: :class:`packets.PacketTrace`
    """
    segment = about.segment
    default = trace_text.Step(segment.bridge, 0, '', 0, 0, ('NORMAL',))
    inward = packet.inward and not steps
    return packets.PacketTrace(
        packet, segment.bridge, segment.patch_port, trace_text.Trace(
            steps or (default,),
            (segment.bridge, 'br-int') if inward else (segment.bridge,),
            () if steps or inward else ('1',)),
        (trace_text.Port(segment.bridge, segment.bridge, 65534, '1'),
         trace_text.Port('ex-int', segment.bridge, segment.patch_port, '',
                         'int-ex'),
         trace_text.Port('int-ex', 'br-int', 4, '', 'ex-int')))


def vip(said=None, managed=True, **options):
    """Facts about a VIP with a health check of its two destinations.

    :param said: the VIP in the status of the agent
    """
    conf = world.conf(drivers=['fip_route', 'veth_leak', 'port_forward'],
                      **options)
    rule = port_forwards.Rule(
        'tcp', 53, 5353, (port_forwards.Destination('10.0.0.5'),
                          port_forwards.Destination('10.0.0.6')),
        check=port_forwards.HealthCheck('tcp'))
    status = {**RUNNING, 'groups': [], 'vips': [said] if said else []}
    about = port_forwards.Vip('192.0.2.53', managed, rules=(rule,))
    about = subject.of_vip(
        sources.with_health(about, status), cloud.node(), True,
        [world.driver(name, conf) for name in conf.drivers])
    known = gathering.setup(conf, CLIENT)
    has = kernel_of(about, conf)
    device = links.Link(9, 'loopback1', '0a:00:00:00:00:09', True, 'dummy',
                        0, 0, '', 0)
    has = has._replace(
        links={**has.links, 'loopback1': device},
        addresses={**has.addresses, 'loopback1': tuple(
            each.address for each in about.wanted_of(resources.VipAddress))},
        routes={each.table: (route_codec.Route(
            each.table, each.dst, each.dev, each.via, 44, 0),)
            for each in about.wanted_of(resources.KernelRoute)
            if not each.subject},
        lookups={**has.lookups, 'marked': has.lookups['out']._replace(
            table=201)})
    return facts.Facts(
        known, about, agent=status, kernel=has,
        translation=kernel.Translation(about.targets, False, {
            ('tcp', '192.0.2.53', 53, '10.0.0.6', 5353): 2}),
        zebra=(('connected' if managed else 'static', True, True, 'lo'),),
        lists=dict.fromkeys(('zebra', 'bgpd'), (output.Entry(
            1000000001, 'permit', '192.0.2.53/32', 32, 32),)), **BGP)


def subject_of(address, conf, values):
    """The :class:`subject.Subject` of a floating IP."""
    version = networks.family(address)
    route = model.NbDefaultRoute(
        GATEWAYS[version], 'lrp-1', True, cloud.OWNER, cloud.HOSTNAME,
        announcing.DEFAULT_PREFIX[version])
    if version == 6:
        values = {'ports': (cloud.port(networks=(
            '198.51.100.1/24', '2001:db8:100::1/64')),), **values}
    router = cloud.router(fips=[address], default_routes=(route,), **values)
    node = cloud.node()
    wanted = [each for name in ('fip_route', 'veth_leak')
              for driver in [world.driver(name, conf)]
              for part in (driver.resources(node, node),
                           world.wanted(driver, router, node))
              for each in part]
    return subject.Subject(
        address, subject.Kind.FIP, node, router, router.ports[0],
        router.nats[0], cloud.HOSTNAME, (),
        tuple(each for each in wanted if subject.concerns(each, address)),
        withheld=cloud.addresses(router)[address].withheld)


def flows_of(about):
    """All flows that are wanted, as the switch has them."""
    return {each: (switch.Found(each.cookie, each.priority,
                                switch.flow_spec(each), 7),)
            for each in about.wanted_of(resources.Flow)}


def rules_of(about, kind):
    """All rules of a class that are wanted, as the kernel has them."""
    return tuple(rules.Rule(
        each.priority, each.table, each.src, each.dst, each.iif, each.fwmark,
        ownership.RULE_PROTOCOL, each.suppress, each.ipv6)
        for each in about.wanted_of(kind))


def kernel_of(about, conf):
    """A :class:`kernel.Kernel` that has all that is wanted."""
    names = [name for name in MACS if conf.frr.vrf_name or name == 'br-ex']
    default, provider = ownership.VETH_ENDS
    version = networks.family(about.address)
    found = {name: links.Link(
        INDEXES[name], name, MACS[name], True, '',
        INDEXES['vrf-provider'] if name == provider else 0,
        {default: INDEXES[provider], provider: INDEXES[default]}.get(name, 0),
        '', 10 if name == 'vrf-provider' else 0) for name in names}
    return kernel.Kernel(
        found,
        {name: tuple(
            each.address for each in about.wanted_of(resources.Address)
            if each.dev == name) for name in names},
        {('br-ex', about.nexthop): (
            about.mac if about.place else '', 'REACHABLE'),
         **{(each.dev, each.dst): (
             each.lladdr or MACS[each.lladdr_of], 'PERMANENT')
            for each in about.wanted_of(resources.Neighbour)}},
        {each.path: each.value for each in about.wanted_of(resources.Sysctl)},
        rules_of(about, resources.Rule),
        {200: (route_codec.Route(200, announcing.DEFAULT_PREFIX[version],
                                 default,
                                 PAIR[version][1], 44, 0),)},
        _lookups(about, conf), proxies=frozenset(
            (each.dev, each.dst)
            for each in about.wanted_of(resources.NeighbourProxy)))


def _lookups(about, conf):
    default, provider = ownership.VETH_ENDS
    prefix = about.prefix
    version = networks.family(about.address)
    to_default, to_provider = PAIR[version]
    everything = announcing.DEFAULT_PREFIX[version]
    table = conf.fip_route.route_table_id or resources.MAIN_TABLE
    here = lookups.Lookup('', table, prefix, 'br-ex', None, 44)
    return {'here': here, 'in': here, 'vrf': lookups.Lookup(
                '', 10, prefix, provider, to_default, 196),
            'out': lookups.Lookup('', 200, everything, default, to_provider,
                                  44),
            'out vrf': lookups.Lookup('', 10, everything, 'uplink',
                                      FABRIC[version], 186)}


def with_kernel(known, **values):
    """The same facts, with other values of the kernel."""
    return known._replace(kernel=known.kernel._replace(**values))


def with_lookup(known, question, **values):
    """The same facts, with another answer of the kernel."""
    found = known.kernel.lookups
    return with_kernel(known, lookups={
        **found, question: found[question]._replace(**values)})


def with_link(known, name, **values):
    """The same facts, with another state of a device."""
    found = known.kernel.links
    return with_kernel(known, links={
        **found, name: found[name]._replace(**values)})


def with_subject(known, **values):
    """The same facts, with other values of the subject."""
    return known._replace(subject=known.subject._replace(**values))
