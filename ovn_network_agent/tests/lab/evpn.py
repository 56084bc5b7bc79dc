# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""EVPN in the fabric: the spine is the PE, with a VRF and a host for each VNI.

All VRFs have the same addresses: those of the client outside, at a host of
their own.  So have the provider networks.
"""

import dataclasses
import itertools
import subprocess

from lab import echo
from lab import flat
from lab import frr
from lab import node as nodes
from lab import plan
from lab import routers
from lab import wiring

# End of the tunnels at the spine, outside of the gateways' loopbacks.
VTEP = '192.0.2.1'
# Of all tenants' networks, and of a further one of a tenant.
CIDR, FURTHER = itertools.islice(
    plan.FURTHER_PROVIDERS.subnets(new_prefix=24), 2)
CIDR6 = plan.FURTHER_PROVIDER6
_UNDERLAY_MTU = 1500
_OVERHEAD = 50


@dataclasses.dataclass
class Tenant:
    """A provider network with a VNI, and what the fabric has of it."""

    name: str
    vni: int  # that of the PE's VRF
    network: routers.Network  # :class:`routers.Network`
    host: nodes.Node  # the Node behind the PE
    # Of the responders of its host and machines, and of no other tenant's
    port: int


def target(vni):
    """The route target of a VNI, text."""
    return f'64999:{vni:d}'


def connect(cloud):
    """Sessions for EVPN between the spine and the gateways."""
    spine = cloud['spine']
    spine.batch(f'addr add {VTEP}/32 dev lo\n')
    spine.sysctl(net__ipv6__conf__all__forwarding=1)
    # FRR keeps the next hop of routes that pass, unless told otherwise.
    neighbors = ''.join(f'  neighbor {plan.UPLINKS[name][1]} activate\n'
                        for name in cloud.gateways)
    frr.add(spine, f'router bgp {plan.SPINE_AS}\n'
                   f' address-family ipv4 unicast\n  network {VTEP}/32\n'
                   ' exit-address-family\n'
                   f' address-family l2vpn evpn\n{neighbors}'
                   '  advertise-all-vni\n exit-address-family\nexit\n')
    for name in cloud.gateways:
        # The agent does not set it: FRR would lose "no ipv6 forwarding".
        cloud[name].sysctl(net__ipv6__conf__all__forwarding=1)
        config = gateway_config(name)
        frr.add(cloud[name],
                config if cloud.VRF else flat.without_vrf(config))


def gateway_config(name):
    """What the operator adds to frr.conf of a gateway with a VRF, text."""
    # Without a policy, a session between ASes carries nothing (RFC 8212).
    peer = plan.UPLINKS[name][0]
    return (f'router bgp {plan.GATEWAY_AS[name]} vrf {plan.VRF}\n'
            ' address-family l2vpn evpn\n'
            f'  neighbor {peer} activate\n'
            f'  neighbor {peer} route-map EVPN in\n'
            f'  neighbor {peer} route-map EVPN out\n'
            '  advertise-all-vni\n exit-address-family\nexit\n'
            'route-map EVPN permit 10\nexit\n')


def add_tenants(cloud, segments: dict[str, tuple[int, str, int]]) -> list:
    """Networks with a VNI, VRFs of the spine, and hosts."""
    found = []
    for name, (vni, *segment) in segments.items():
        host = cloud.nodes[name] = nodes.Node(name)
        _cable(cloud['spine'], host)
        port = echo.PORT + vni
        echo.start(host, port)
        network = cloud.neutron.add_provider_network(name, CIDR, *segment)
        _add_subnets(cloud.neutron, (CIDR, {'router': network.gateway}),
                     (CIDR6, {}))
        found.append(Tenant(name, vni, network, host, port))
    set_vnis(cloud.neutron, [(each.network, each.vni) for each in found])
    spine = cloud['spine']
    spine.batch('\n'.join(line for tenant in found
                          for line in _vrf(tenant)) + '\n')
    frr.add(spine, ''.join(
        instance(tenant.vni, plan.SPINE_AS, VTEP, 'connected')
        for tenant in found))
    return found


def add_network(cloud, tenant, name, cidr, *segment) -> Tenant:
    """A further network of a tenant's VNI, of IPv4 alone."""
    network = cloud.neutron.add_provider_network(name, cidr, *segment)
    _add_subnets(cloud.neutron, (cidr, {'router': network.gateway}))
    set_vnis(cloud.neutron, [(network, tenant.vni)])
    return dataclasses.replace(tenant, name=name, network=network)


def _cable(spine, host):
    subprocess.run(['ip', 'link', 'add', 'eth0', 'netns', str(host.pid),
                    'type', 'veth', 'peer', 'name', 'to-' + host.name,
                    'netns', str(spine.pid)], check=True)
    wiring.client(host)
    wiring.client6(host)


def _vrf(tenant):
    """Lines for the VRF of a tenant at the spine, its tunnels and its host."""
    vni, mtu = tenant.vni, _UNDERLAY_MTU - _OVERHEAD
    return [
        f'link add vrf-{vni} type vrf table {vni}',
        f'link set vrf-{vni} up',
        f'route add unreachable default metric 4278198272 table {vni}',
        f'link add br-{vni} type bridge',
        f'link set br-{vni} address 02:00:00:00:00:fe addrgenmode none',
        f'link set br-{vni} master vrf-{vni} up',
        f'link add vxlan-{vni} type vxlan id {vni} local {VTEP} dstport 4789 '
        'nolearning',
        f'link set vxlan-{vni} addrgenmode none mtu {mtu}',
        f'link set vxlan-{vni} master br-{vni} up',
        f'link set vxlan-{vni} type bridge_slave neigh_suppress on '
        'learning off',
        f'link set to-{tenant.name} master vrf-{vni} up',
        f'addr add {plan.CLIENT_GATEWAY}/24 dev to-{tenant.name}',
        f'addr add {plan.CLIENT_GATEWAY6}/64 dev to-{tenant.name} nodad']


def instance(vni, asn: int, local, routes):
    """The lines of FRR for a VNI, text.

    :param routes: kind of those that are announced, as FRR calls it
    """
    families = ''.join(
        f' address-family {afi} unicast\n  redistribute {routes}\n'
        ' exit-address-family\n' for afi in ('ipv4', 'ipv6'))
    return (f'router bgp {asn} vrf vrf-{vni}\n'
            f' bgp router-id {local}\n{families}'
            ' address-family l2vpn evpn\n'
            '  advertise ipv4 unicast\n  advertise ipv6 unicast\n'
            f'  rd {local}:{vni}\n'
            f'  route-target import {target(vni)}\n'
            f'  route-target export {target(vni)}\n'
            ' exit-address-family\nexit\n'
            f'vrf vrf-{vni}\n vni {vni}\nexit-vrf\n')


def add_machine(cloud, tenant, host: str):
    """A machine of both families on a tenant's network, with a responder."""
    vm = cloud.add_vm(tenant.network, host)
    cloud.neutron.set_addresses(vm.port, *addresses(vm))
    vm.lines = (
        f'link set eth0 mtu {_UNDERLAY_MTU:d}\n'
        f'addr add {addresses(vm)[1]}/{CIDR6.prefixlen:d} dev eth0 nodad\n')
    vm.node.batch(vm.lines)
    echo.start(vm.node, tenant.port)
    return vm


def addresses(vm):
    """The addresses of a machine, IPv4 first."""
    number = int(vm.port.address.rpartition('.')[2])
    return vm.port.address, str(CIDR6[number])


# -- what Neutron writes ---------------------------------------------------

def set_vnis(neutron, vnis: list[tuple]):
    """Give networks a VNI as Neutron's BGPVPN does, in one transaction."""
    def write(_txn, tables):
        for network, vni in vnis:
            row = routers.find_one(tables, 'Logical_Switch',
                                   name=network.switch)
            for key, value in (('type', 'l3'), ('vni', f'{vni:d}'),
                               ('rt', f"['{target(vni)}']")):
                if vni:
                    row.setkey('external_ids', 'neutron_bgpvpn:' + key, value)
                else:
                    row.delkey('external_ids', 'neutron_bgpvpn:' + key)

    neutron.nb.transact(write)


def _add_subnets(neutron, *subnets):
    """The DHCP options of subnets."""
    def write(txn, tables):
        for cidr, options in subnets:
            routers.insert(txn, tables, 'DHCP_Options', cidr=str(cidr),
                           options=options, external_ids={
                               'subnet_id': routers.new_uuid()})

    neutron.nb.transact(write)
