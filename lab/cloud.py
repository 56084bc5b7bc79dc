# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The cloud: all nodes, wired, with OVN, OVS, FRR, and what Neutron does."""

from collections import abc
import concurrent.futures
import os
import subprocess

from lab import agent as agents
from lab import central
from lab import chassis
from lab import debian
from lab import fabric
from lab import families
from lab import frr
from lab import machines
from lab import neutron
from lab import node as nodes
from lab import northbound
from lab import plan
from lab import processor
from lab import sink as sinks
from lab import wiring


class Cloud(fabric.Fabric):
    """A cloud that is ready when the constructor returns.

    :param wait_for_bgp: False to make routers and machines meanwhile; then
        :meth:`start_agents` waits, or :meth:`ensure_bgp`
    :param version: 4, or 6 for IPv6 in the fabric and a provider network of
        IPv6 alone
    :param vlan: VLAN tag of the provider network, 0 for a flat network
    :param provider: addresses of the provider network, an IPv4Network or
        IPv6Network; None for the usual ones of the version
    :cvar VRF: whether the gateways have BGP in a VRF
    """

    VRF = True

    def __init__(self, gateways: int = 2, computes: int = 1,
                 scheduler=neutron.GATEWAY_CHASSIS,
                 say: abc.Callable | None = None, root=None,
                 further: bool = False, version=4, vlan=0,
                 provider=None, wait_for_bgp: bool = True):
        self._root = root
        self._waits_for_bgp = wait_for_bgp
        self._ipv6 = version == 6
        self._provider = (
            provider or families.FAMILIES[version].provider, vlan)
        self._mappings = {plan.PHYSICAL_NETWORK: plan.BRIDGE}
        if further:
            self._mappings[plan.FURTHER_NETWORK] = plan.FURTHER_BRIDGE
        self._say = say or (lambda text: None)
        self.gateways = [f'gw{n}' for n in range(1, gateways + 1)]
        self.computes = [f'cmp{n}' for n in range(1, computes + 1)]
        self.nodes = {}
        self.agents = {}
        self.vms = []
        try:
            self._build(scheduler)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.close()

    def __getitem__(self, name):
        """The Node of that name."""
        return self.nodes[name]

    # -- construction -----------------------------------------------------

    def _build(self, scheduler):
        self._say('making namespaces and links')
        for name in (*plan.HOSTS, 'spine', 'client'):
            if self._wanted(name):
                self.nodes[name] = nodes.Node(
                    name, self._root if name in self.gateways else None)
        self._wire()
        if self._root:
            for name in self.gateways:
                debian.wait_up(self[name])
        self._say('starting OVN, OVS and FRR')
        self._start()
        self.sink = sinks.Sink(self['sink'])
        self.sink.start()
        self.nb = northbound.Database(
            central.remote(self['central'], 'nb'), 'OVN_Northbound',
            neutron.NB_TABLES)
        self.sb = northbound.Database(
            central.remote(self['central'], 'sb'), 'OVN_Southbound',
            neutron.SB_TABLES)
        self.neutron = neutron.Neutron(self.nb, self.sb, scheduler)
        cidr, vlan = self._provider
        self.neutron.add_provider_network(cidr=cidr, vlan=vlan)
        self._say('waiting for chassis and BGP')
        self._wait(self._waits_for_bgp)

    def _wanted(self, name):
        if name.startswith('gw'):
            return name in self.gateways
        if name.startswith('cmp'):
            return name in self.computes
        return True

    def _wire(self):
        wiring.machine(self.nodes, self.gateways)
        for name in self.gateways:
            self.wire_gateway(name)
        for name in ('central', 'backend', 'sink', *self.computes):
            wiring.host(self[name])
        wiring.spine(self['spine'], self.gateways)
        wiring.client(self['client'])
        if self._ipv6:
            wiring.add_ipv6(self.nodes, self.gateways, self.VRF)

    def wire_gateway(self, name):
        """Make links, addresses and sysctls of a gateway after its boot."""
        wiring.gateway(self[name])

    def wire_vrf(self, name):
        """Make the VRF of a gateway, whose uplink and loopback are there."""
        self[name].batch('\n'.join([
            *wiring.vrf(name),
            *(wiring.vrf6(name) if self._ipv6 else ())]) + '\n')

    def routing(self, name):
        """The frr.conf with which a gateway boots, text."""
        return frr.gateway_config(name) + (
            frr.gateway_config6(name) if self._ipv6 else '')

    def _start(self):
        """Start all nodes at the same time, because each mostly waits."""
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            work = [pool.submit(self._start_central),
                    pool.submit(frr.start, self['spine'],
                                self._spine_routing(), [frr.REPLACES])]
            for name in self.gateways:
                work.append(pool.submit(frr.start, self[name],
                                        self.routing(name)))
            for name in (*self.gateways, *self.computes):
                work.append(pool.submit(self._start_chassis, name))
            for one in work:
                one.result()

    def _spine_routing(self):
        return frr.spine_config(self.gateways) + (
            frr.spine_config6(self.gateways) if self._ipv6 else '')

    def _start_central(self):
        central.prepare(self['central'])
        central.start(self['central'])

    def _start_chassis(self, name):
        node = self[name]
        chassis.start_database(node)
        chassis.describe(node,
                         self._mappings if name in self.gateways else {})
        chassis.start_vswitchd(node)
        nodes.wait_until(f'{name}: br-int is there', lambda: os.path.exists(
            node.path('/run/openvswitch/br-int.mgmt')))
        chassis.start_controller(node)

    def add_ipv6(self):
        """IPv6 in the fabric and on the management network, with BGP."""
        wiring.add_ipv6(self.nodes, self.gateways, self.VRF)
        for name in self.gateways:
            frr.add(self[name], frr.gateway_config6(name))
        frr.add(self['spine'], frr.spine_config6(self.gateways))
        self._ipv6 = True
        self._wait(self._waits_for_bgp)

    # -- chassis ----------------------------------------------------------

    def stop_controller(self, name):
        """Clean stop of ovn-controller: its chassis leaves OVN."""
        chassis.stop_controller(self[name])

    def start_controller(self, name):
        """Start ovn-controller again, and wait until its tunnels are up.

        Until then, its gateway ports may move to and fro.
        """
        chassis.start_controller(self[name])
        self._wait()
        nodes.wait_until('the tunnels of gateways are up', lambda: all(
            chassis.tunnels_up(self[other]) for other in self.gateways
            if self[other].pid), 30)

    def delete_chassis(self, name):
        """Delete the chassis of a gateway that is gone for good."""
        self['central'].run(['ovn-sbctl', 'chassis-del',
                             plan.system_id(name)])

    # -- power ------------------------------------------------------------

    def power_off(self, name):
        """Power failure of a gateway.

        The cables go first: at the end of a node, the kernel removes rules and
        devices one by one, and a packet could still leave by a cable.
        """
        wiring.unplug_gateway(self[name], self['spine'])
        self[name].kill()

    def power_on(self, name):
        """Switch a gateway on again; it boots like any host.

        Its disk is as it was: configuration and local database.  The agent
        is not started.
        """
        self[name].power_on()
        wiring.plug_gateway(self[name], self['spine'])
        self.wire_gateway(name)
        if self._ipv6:
            wiring.gateway6(self[name], self['spine'], self.VRF)
        frr.start(self[name], self.routing(name))
        self._start_chassis(name)
        self._wait()

    def _wait(self, fabric: bool = True):
        wanted = {name for name in (*self.gateways, *self.computes)
                  if self[name].pid}
        nodes.wait_until('all chassis are registered', lambda: wanted <= {
            row.hostname for row in self.sb.rows('Chassis')}, 60)
        if fabric:
            self.wait_fabric()

    def close(self):
        """Take everything down; may be called again."""
        for one in self.agents.values():
            one.close()
        for vm in self.vms:
            vm.node.close()
        for database in ('nb', 'sb'):
            if hasattr(self, database):
                getattr(self, database).close()
        failures = []
        for node in self.nodes.values():
            try:
                node.close()
            except nodes.NodeError as e:
                # A node that hangs must not prevent the end of the others.
                failures.append(str(e))
        self.vms.clear()
        # The kernel removes the cables later, with the network namespaces.
        # The next cloud needs their names now.
        subprocess.run(
            ['ip', '-force', '-batch', '-'], text=True, check=False,
            input=''.join(f'link del {name}\n' for name in (
                'mgmt', *('m-' + name for name in self.nodes
                          if name in plan.HOSTS))),
            stderr=subprocess.DEVNULL)
        self.nodes.clear()
        if failures:
            raise nodes.NodeError('\n'.join(failures))

    # -- what Neutron and Nova do -----------------------------------------

    def add_router(self, name, order=None, **kwargs):
        """Add a router, and wait until a chassis has claimed its gateway.

        :param order: node names by preference; None for all nodes
        """
        order = list(order or self.gateways)
        priorities = {node: len(order) - i for i, node in enumerate(order)}
        router = self.neutron.add_router(name, priorities, **kwargs)
        self.wait_owner(router, order[0])
        return router

    def add_vm(self, place, host: str | None = None):
        """Add a virtual machine; wait until its port is up.

        :param place: its Router, or the provider Network that it is on
        """
        host = host or self.computes[0]
        port = self.neutron.add_port(place, host)
        name = f'vm{len(self.vms) + 1}'
        vm = machines.Vm(nodes.Node(name), port)
        self.vms.append(vm)
        self.replug(vm, host)
        nodes.wait_until(f'the port of {name} is up', lambda: (
            self.nb.find('Logical_Switch_Port', name=port.uuid).up ==
            [True]))
        return vm

    def _plug(self, vm, host, device, vlan=0):
        """Connect a machine with the switch of a node.

        :param vlan: of the provider bridge, past OVN; 0 for OVN
        """
        tap = 'tap' + vm.port.uuid[:11]
        subprocess.run(['ip', 'link', 'add', tap, 'netns',
                        str(self[host].pid), 'type', 'veth', 'peer', 'name',
                        device, 'netns', str(vm.node.pid)], check=True)
        self[host].run(['ip', 'link', 'set', tap, 'up'])
        self[host].run([
            'ovs-vsctl', 'add-port', plan.BRIDGE, tap, f'tag={vlan:d}',
        ] if vlan else [
            'ovs-vsctl', 'add-port', 'br-int', tap, '--', 'set', 'Interface',
            tap, 'external_ids:iface-id=' + vm.port.uuid,
            f'external_ids:attached-mac="{vm.port.mac}"'])

    def unplug(self, vm, host):
        """Take a machine off the switch of a node, as Nova does."""
        tap = 'tap' + vm.port.uuid[:11]
        self[host].run(['ovs-vsctl', '--if-exists', 'del-port', tap])
        self[host].run(['ip', 'link', 'del', tap], check=False)

    def replug(self, vm, host, vlan=0):
        """Connect a machine again that was unplugged.

        :param vlan: of the provider bridge, past OVN, as with SR-IOV
        """
        self._plug(vm, host, 'eth0', vlan)
        vm.node.batch(vm.boot())

    def migrate(self, vm, source, target):
        """Live migration of a machine, in the order of Nova and Neutron."""
        self.activate(vm, source, target)
        self.unplug(vm, source)

    def activate(self, vm, source, target):
        """A live migration without the removal of the port at the source.

        The port is prepared on both nodes, the machine goes on at the target,
        QEMU announces it there, and Neutron activates the binding.
        """
        self.neutron.request_chassis(vm.port, source, target)
        self._plug(vm, target, 'eth1')
        nodes.wait_until('the target has prepared the port', lambda: (
            self.sb.find('Port_Binding',
                         logical_port=vm.port.uuid).additional_chassis))
        # QEMU copies the memory for seconds.
        processor.wait_idle()
        vm.node.batch(
            'link set eth0 down\n'
            'link set eth0 name old0\n'
            'addr flush dev old0\n'
            'link set eth1 name eth0\n' + vm.boot())
        vm.node.call(machines.rarp)
        self.neutron.request_chassis(vm.port, target)

    def wait_owner(self, router, node, timeout=30):
        """Wait until a node has the gateway of a router."""
        nodes.wait_until(f'{node} is the gateway of {router.name}',
                         lambda: self.neutron.owner(router) == node, timeout)

    def move(self, router, node, wait=True):
        """Move a gateway by making a node the preferred one."""
        priorities = {name: 10 for name in self.gateways}
        priorities[node] = 20
        self.neutron.set_priorities(router, priorities)
        if wait:
            self.wait_owner(router, node)

    # -- agents -----------------------------------------------------------

    def agent(self, name, config=None):
        """The :class:`agent.Agent` of a node, made on first use."""
        if name not in self.agents or config is not None:
            if name in self.agents:
                self.agents[name].close()
            self.agents[name] = agents.Agent(self[name], config)
        return self.agents[name]

    def start_agents(self, config=None, names=None):
        """Start agents and wait until they are ready."""
        self.ensure_bgp()
        chosen = [self.agent(name, config) for name in names or
                  self.gateways]
        for agent in chosen:
            agent.start()
        for agent in chosen:
            agent.wait_ready()
        return chosen
