# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The story of tools/quickstart: the agent at work in the embedded cloud.

Every number and line comes from the running systems.  A scene without the
expected result counts as failed.
"""

import argparse
import signal
import sys
import time

from lab import cloud as clouds
from lab import dual
from lab import dump
from lab import echo
from lab import neutron
from lab import node as nodes
from lab import plan
from lab import probe
from lab import teller
from lab import up

ROUNDS = 5
# Tag of the second provider network.
_VLAN = 101
_RULES_FILE = '/etc/ovn-network-agent/port-forwards.yaml'


def _rules(vip, name):
    node, backend, port = plan.HOSTS[name], plan.HOSTS['backend'], echo.PORT
    return f'''\
port_forwards:
  - vip: {vip}
    manage_vip: true
    rules:
      - {{proto: tcp, port: 80, dest_addr: {node}, dest_port: {port}}}
      - {{proto: tcp, port: 81, dest_addr: {backend}, dest_port: {port},
         masquerade: true}}
'''


class Story(teller.Teller):
    """Tells the story."""

    def __init__(self, method, scheduler):
        super().__init__()
        self._method = method
        self._scheduler = scheduler
        self.vip = str(plan.VIPS[10])
        self.cloud = None

    # -- the scenes -------------------------------------------------------

    def tell(self):
        """Tell all scenes, in order."""
        self._cloud_up()
        self._agents()
        for scene in (self._reach, self._forward, self._explain, self._latency,
                      self._between, self._move, self._restart,
                      self._drain, self._stop):
            scene()

    def _cloud_up(self):
        self.head('A cloud: central, gateways gw1 and gw2, cmp1, spine, '
                  'client')
        self.cloud = clouds.Cloud(gateways=2, say=self.say,
                                  scheduler=self._scheduler)
        cloud = self.cloud
        cloud.add_ipv6()
        self.alpha = cloud.add_router('alpha', ['gw1', 'gw2'])
        self.beta = cloud.add_router('beta', ['gw1', 'gw2'])
        self.gamma = cloud.add_router('gamma', ['gw2', 'gw1'])
        self.delta = cloud.add_router(
            'delta', ['gw1', 'gw2'],
            provider=cloud.neutron.add_provider_network(
                f'vlan-{_VLAN:d}', next(
                    plan.FURTHER_PROVIDERS.subnets(new_prefix=24)),
                plan.PHYSICAL_NETWORK, _VLAN))
        self.vms = [cloud.add_vm(r) for r in (self.alpha, self.beta,
                                              self.gamma, self.delta)]
        self.snat_vm = cloud.add_vm(self.alpha)
        self.fips = [cloud.neutron.add_fip(vm.port.router, vm.port)
                     for vm in self.vms]
        for one in (*(vm.node for vm in self.vms), cloud['client'],
                    cloud['backend'],
                    *(cloud[name] for name in cloud.gateways)):
            echo.start(one)
        for vm, fip in zip(self.vms, self.fips):
            self.say(f'{vm.node.name} behind router {fip.router.name} has '
                     f'floating IP {fip.address}, gateway '
                     f'{cloud.neutron.owner(fip.router)}')
        self.fip6 = self._ipv6(self.alpha, self.vms[0])
        self.before = {name: dump.node(cloud[name])
                       for name in cloud.gateways}
        self.before['nb'] = dump.northbound(cloud)
        unreachable = probe.unreachable(cloud['client'], 'icmp',
                                        self.fips[0].address, tries=2)
        self.result('without the agent a floating IP is',
                    'unreachable' if unreachable else 'reachable?!',
                    unreachable)

    def _ipv6(self, router, vm):
        """Give a router and its machine IPv6; the floating IP, text."""
        both = dual.Dual(self.cloud.neutron, router, 1)
        address = both.floating_ip(both.machine(vm))
        self.say(f'{vm.node.name} has floating IP {address}, too, and the '
                 f'network of {self.fips[-1].address} is VLAN {_VLAN:d}')
        return address

    def _agents(self):
        self.head('The agent starts on both gateways (announce_method = '
                  f'{self._method})')
        started = time.monotonic()
        for name in self.cloud.gateways:
            self.cloud[name].write(_RULES_FILE, _rules(self.vip, name))
        self.cloud.start_agents({
            'fip_route': {'announce_method': self._method},
            'port_forward': {'rules_file': _RULES_FILE,
                             'port_forward_l3mdev_accept': 'true'}})
        self.result('agents ready after',
                    f'{time.monotonic() - started:.1f} s', True)
        for fip in self.fips:
            self.cloud.wait_announced(fip.address,
                                      self.cloud.neutron.owner(fip.router))
        self.cloud.wait_announced6(self.fip6, 'gw1')
        self.say('BGP table of the spine:')
        for prefix, hops in sorted(self.cloud.bgp_table().items()):
            print(f'            {prefix:<20} via {", ".join(hops)}')

    def _reach(self):
        with self.scene('The client outside reaches the floating IPs'):
            for kind in probe.KINDS:
                report = probe.ping(self.cloud['client'],
                                    self.fips[0].address, kind=kind,
                                    count=5, interval=0.1)
                good = report.lost == 0 and (
                    kind == 'icmp' or
                    report.seen_sources == {plan.CLIENT})
                self.result(f'client to floating IP, {kind}',
                            report, good)
        for what, address, source in (
                ('VLAN', self.fips[3].address, plan.CLIENT),
                ('IPv6', self.fip6, plan.CLIENT6)):
            with self.scene(f'The client reaches a floating IP, {what}'):
                report = probe.ping(self.cloud['client'], address,
                                    kind='tcp', count=5, interval=0.1)
                self.result(f'client to floating IP, {what}, tcp', report,
                            report.lost == 0 and
                            report.seen_sources == {source})
        with self.scene('Virtual machines reach the outside'):
            self._outwards(self.vms[0].node, self.fips[0].address,
                           'with its floating IP')
            self._outwards(self.snat_vm.node, self.alpha.address,
                           'with the address of its router')
            self._outwards(self.vms[3].node, self.fips[3].address,
                           'through the VLAN')
            self._outwards(self.vms[0].node, self.fip6, 'with IPv6',
                           plan.CLIENT6)

    def _outwards(self, node, source, what, target=plan.CLIENT):
        report = probe.ping(node, target, kind='tcp', count=5, interval=0.1)
        self.result(f'machine to client, {what}', report,
                    report.lost == 0 and report.seen_sources == {source})

    def _forward(self):
        with self.scene(f'Ports of the anycast VIP {self.vip}, which both '
                        'gateways announce, are forwarded'):
            client = self.cloud['client']
            probe.wait_reachable(client, 'tcp', self.vip, 20, port=80)
            near = probe.ping(client, self.vip, kind='tcp', count=5,
                              interval=0.1, port=80)
            self.result('client to VIP, destination on the gateway', near,
                        near.lost == 0 and near.seen_sources ==
                        {plan.CLIENT} and near.responders < {
                            plan.HOSTS[name]
                            for name in self.cloud.gateways})
            far = probe.ping(client, self.vip, kind='tcp', count=5,
                             interval=0.1, port=81)
            self.result('client to VIP, another node, masqueraded', far,
                        far.lost == 0 and far.responders ==
                        {plan.HOSTS['backend']} and
                        far.seen_sources == near.responders)

    def _explain(self):
        address = self.fips[0].address
        with self.scene(f'ovn-network-agent-ctl explain {address}'):
            done = self.cloud.agent('gw1').ctl('explain', address,
                                               check=False)
            print(done.stdout + done.stderr)
            self.result('layers that explain finds broken',
                        'some' if done.returncode else 'none',
                        done.returncode == 0)

    def _latency(self):
        with self.scene('Floating IPs added and removed, from the commit '
                        'in OVN on'):
            before = self.cloud['gw1'].launched()
            times = [self._add_and_remove() for _round in range(ROUNDS)]
            launched = self.cloud['gw1'].launched() - before
            for i, what in enumerate((
                    'commit to announced at the spine',
                    'commit to the first answer at the client',
                    'removal to withdrawn at the spine')):
                values = sorted(t[i] * 1000 for t in times)
                self.result(what,
                            f'median {values[len(values) // 2]:.0f} ms '
                            f'({values[0]:.0f} to {values[-1]:.0f})', True)
            self.result('processes and threads launched on the gateway',
                        f'{launched:d} for {2 * ROUNDS} changes', True)

    def _add_and_remove(self):
        cloud, address = self.cloud, self.cloud.neutron.allocate()
        with probe.Probe(cloud['client'], 'icmp', address, interval=0.01,
                         limit=1.0) as pings:
            started = time.monotonic()
            fip = cloud.neutron.add_fip(self.alpha, self.snat_vm.port,
                                        address)
            cloud.wait_announced(address, 'gw1')
            announced = time.monotonic() - started
            answered = pings.wait_answered(20, after=started) - started
        started = time.monotonic()
        cloud.neutron.remove_fips(self.alpha, [fip])
        cloud.wait_withdrawn(address)
        return announced, answered, time.monotonic() - started

    def _between(self):
        with self.scene('Floating IP to floating IP'):
            for what, target in (('on one chassis', 1),
                                 ('across two chassis', 2)):
                report = probe.ping(self.vms[0].node,
                                    self.fips[target].address, kind='tcp',
                                    count=5, interval=0.1)
                self.result(f'floating IP to floating IP, {what}', report,
                            report.lost == 0 and report.seen_sources == {
                                self.fips[0].address})

    def _move(self):
        cloud, fip = self.cloud, self.fips[0]
        with self.scene('The gateway of router alpha moves to gw2'):
            with probe.Probe(cloud['client'], 'icmp',
                             fip.address) as pings:
                pings.wait_answered(20)
                cloud.move(self.alpha, 'gw2')
                cloud.wait_announced(fip.address, 'gw2')
                moved = time.monotonic()
                pings.wait_answered(20, after=moved)
                report = pings.stop()
            self.result('gateway moved', report, True)
            self.say(f'announced by {cloud.announcer(fip.address)} now')

    def _restart(self):
        cloud, fip = self.cloud, self.fips[0]
        with self.scene('The agent on gw2 is killed (SIGKILL) and started '
                        'again'):
            with probe.Probe(cloud['client'], 'icmp',
                             fip.address) as pings:
                cloud.agent('gw2').kill()
                cloud.agent('gw2').start()
                cloud.agent('gw2').wait_ready()
                report = pings.stop()
            self.result('agent killed and restarted', report,
                        report.lost == 0)

    def _drain(self):
        cloud, fip = self.cloud, self.fips[0]
        with self.scene('gw2 hands over to gw1, and its agent stops'):
            with probe.Probe(cloud['client'], 'icmp',
                             fip.address) as pings:
                pings.wait_answered(20)
                self.statuses = [cloud.agent('gw2').stop()]
                pings.wait_answered(20, after=time.monotonic())
                report = pings.stop()
            self.result('drained stop', report,
                        cloud.announcer(fip.address) == 'gw1')

    def _stop(self):
        cloud = self.cloud
        with self.scene('The other agent stops in good order'):
            # No other agent runs, so a drain would wait for gw2 in vain.
            last = cloud.agent('gw1')
            last.config.setdefault('gateway_drain', {}).update(
                drain_on_shutdown='false')
            last.write_config()
            last.process.send_signal(signal.SIGHUP)
            statuses = [*self.statuses, last.stop()]
            self.result('exit status of the agents', statuses,
                        set(statuses) == {0})
            for fip in self.fips:
                cloud.wait_withdrawn(fip.address)
            nodes.wait_until(f'{self.fip6} is withdrawn', lambda:
                             not cloud.announcers6(self.fip6))
            for name in cloud.gateways:
                self._left(name, dump.node(cloud[name]))
            self._left('nb', dump.northbound(cloud))
            leaked = cloud.sink.leaked()
            self.result('provider packets leaked to the management network',
                        leaked, leaked == 0)
            self.say(f'apart from them: {cloud.sink.errors():d} ICMP errors '
                     f'of the nodes themselves, {cloud.sink.untranslated():d} '
                     'packets that OVN did not translate while the '
                     'gateway moved')

    def _left(self, name, after):
        left = dump.difference(self.before[name], after)
        # The bridge stays up, because the agent did not bring it up.  The
        # story itself has changed the priorities.
        left = [line for line in left
                if not line.startswith(('ip -br link: ', 'Gateway_Chassis',
                                        'HA_Chassis')) or '@' in line]
        for line in left[:10]:
            self.say(f'left on {name}: {line}')
        self.result(f'left behind on {name}', f'{len(left)} objects',
                    not left)

    def close(self):
        """Take the cloud down."""
        if self.cloud is not None:
            self.cloud.close()


def main():
    """Tell the story; returns the exit status."""
    parser = argparse.ArgumentParser(prog='tools/quickstart')
    parser.add_argument('--keep', action='store_true',
                        help='leave the cloud running, to look around')
    parser.add_argument('--method', choices=('static', 'kernel'),
                        default='static', help='announce method')
    parser.add_argument('--ha-chassis-group', action='store_true',
                        help='schedule gateways as Neutron 2026.2 does')
    args = parser.parse_args()
    scheduler = (neutron.HA_CHASSIS_GROUP if args.ha_chassis_group else
                 neutron.GATEWAY_CHASSIS)
    story = Story(args.method, scheduler)
    try:
        story.tell()
        status = story.table(
            f'announce_method = {args.method}, {scheduler}')
        if args.keep:
            _keep(story)
        return status
    except (nodes.NodeError, OSError) as error:
        print(f'The cloud cannot be shown: {error}', flush=True)
        return 1
    finally:
        story.close()


def _keep(story):
    """Start the agents again and stay until a signal."""
    for name in story.cloud.gateways:
        story.cloud.agent(name).start()
        story.cloud.agent(name).wait_ready()
    names = ', '.join([*story.cloud.nodes,
                       *(vm.node.name for vm in story.cloud.vms)])
    print('The cloud stays, with the agents running.  From another '
          'terminal:\n'
          '  tools/lab enter gw1        a shell on a gateway\n'
          '  tools/lab exec spine -- vtysh -c "show bgp ipv4 unicast"\n'
          f'  tools/lab exec client -- ping -c 3 {story.fips[0].address}\n'
          f'Nodes: {names}.\n'
          'Ctrl-C here, or "tools/lab down", ends it.', flush=True)
    up.stay()


if __name__ == '__main__':
    sys.exit(main())
