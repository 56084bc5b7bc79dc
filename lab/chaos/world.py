# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The cloud as it is meant to be, for the actions and the judge."""

from collections import abc
import contextlib
import dataclasses
import threading

from lab import echo
from lab import plan
from lab.chaos import building
from lab.chaos import operators
from lab.chaos import values

ROUTERS = ('alpha', 'beta')
# Port that clients ask at VIPs.
_PORT = 80
# Seconds for the start of an agent on a host with much other work.
_START = 180
FIRST_VIP, SECOND_VIP = (str(plan.VIPS[n]) for n in (10, 20))


class World:
    """Knows what is meant, and changes it together with the cloud."""

    def __init__(self, cloud, profile: values.Profile,
                 say: abc.Callable[[str], object]):
        self.cloud = cloud
        self.profile = profile
        self.routers = {}
        self.operator = operators.Operator(cloud, profile.vrf, profile.ovn)
        self._say = say
        self._lock = threading.RLock()
        self._fips = {}
        self._machines = {}
        self._targets = []
        self._gone = set()
        self._northbound = ()
        self._exempt = []
        vips = ((self.vip(FIRST_VIP, plan.BACKENDS[0]),)
                if profile.forwards else ())
        self._gateways = {
            name: values.Gateway(name, agent='stopped', method=method,
                                 vips=vips)
            for name, method in zip(cloud.gateways, profile.methods)}

    # -- construction -----------------------------------------------------

    def build(self):
        """Everything that a run has before its first action."""
        cloud = self.cloud
        self._say('FRR under watchfrr')
        building.routing(cloud, self.profile, self.operator.lines())
        for name in cloud.gateways:
            self.operator.plant(name)
        building.wait_fabric(cloud, self.profile)
        self._say('routers and machines')
        for number in range(self.profile.routers):
            self._build_router(ROUTERS[number], number)
        if self.routers:
            self._northbound = (self.operator.plant_northbound(
                self.routers['alpha']),)
        if self.profile.forwards:
            building.start_backends(cloud)
            self._targets.append(values.Target(
                f'vip {FIRST_VIP}', 'client', 'udp', FIRST_VIP, _PORT))
        self._say('agents')
        for name in cloud.gateways:
            building.put_rules(cloud[name], self._gateways[name].vips)
            cloud.agent(name, building.configuration(self.profile, name))
            self.start_agent(name, wait=False)
        for name in cloud.gateways:
            self.wait_ready(name)

    def _build_router(self, name, number):
        """A router; the first one has a machine that is probed.

        The machine of the lab bears about 150 probes a second beside the
        agents, and three targets with a probe every 20 ms are these.
        """
        names = self.cloud.gateways
        order = names[number:] + names[:number]
        router = self.routers[name] = self.cloud.add_router(name, order)
        if number:
            return
        machine = self.cloud.add_vm(router)
        self._machines[machine.node.name] = machine.node
        echo.start(machine.node)
        address = self.add_fips(name, [machine])[0].address
        self._targets += [
            values.Target(f'in {address}', 'client', 'icmp', address,
                          router=name),
            values.Target(f'out {machine.node.name}', machine.node.name,
                          'icmp', plan.CLIENT, router=name)]

    def address(self, router):
        """An address that the owner of a router announces, text."""
        return next((one.address for one in self._targets
                     if one.router == router and one.node == 'client'),
                    self.routers[router].address)

    def vip(self, address, backend):
        """A values.Vip of this profile."""
        return values.Vip(address, _PORT, backend, echo.PORT,
                          self.profile.announce)

    # -- what the judge asks ----------------------------------------------

    def state(self):
        """The :class:`values.State` of now."""
        with self._lock:
            foreign = [one for name, gateway in self._gateways.items()
                       if gateway.powered
                       for one in self.operator.objects(name)
                       if (name, one.kind) not in self._gone]
            return values.State(
                gateways=dict(self._gateways),
                routers={name: (router.uuid, router.lrp)
                         for name, router in self.routers.items()},
                fips=dict(self._fips),
                foreign=(*foreign, *self._northbound))

    def targets(self):
        """Everything that is probed, tuple of values.Target."""
        return tuple(self._targets)

    def node(self, name):
        """The Node of that name; machines have names, too."""
        return self._machines.get(name) or self.cloud[name]

    def exempt(self, kind, subject):
        """The reason why a violation is none now, or ''."""
        with self._lock:
            for one, other, why in self._exempt:
                if one == kind and other in (subject, values.ALL):
                    return why
        return ''

    # -- what actions change ----------------------------------------------

    @contextlib.contextmanager
    def exempting(self, kind, subject, why):
        """No violation of a kind counts while the block runs."""
        entry = (kind, subject, why)
        with self._lock:
            self._exempt.append(entry)
        try:
            yield
        finally:
            with self._lock:
                self._exempt.remove(entry)

    @contextlib.contextmanager
    def without(self, name, *services):
        """The operator's objects that end with a program or device.

        The operator plants them again at the end of the block.  FRR has its
        saved lines by itself.
        """
        objects = [one for one in self.operator.objects(name) if
                   one.service in services or one.device in services]
        lost = {(name, one.kind) for one in objects}
        with self._lock:
            self._gone |= lost
        try:
            yield
        finally:
            if any(one.service != 'frr' for one in objects):
                self.operator.plant(name)
            with self._lock:
                self._gone -= lost

    def gateway(self, name):
        """The values.Gateway of now."""
        with self._lock:
            return self._gateways[name]

    def meant(self, name, **changes):
        """A gateway is meant to be otherwise from now on."""
        with self._lock:
            self._gateways[name] = dataclasses.replace(
                self._gateways[name], **changes)

    def owner(self, router):
        """Name of the gateway that has a router, '' for none."""
        return self.cloud.neutron.owner(self.routers[router])

    # -- floating IPs and routers -----------------------------------------

    def add_fips(self, router, machines: list) -> list:
        """Floating IPs, in one transaction.

        :param machines: list of cloud.Vm, or fixed addresses as text
        """
        allocate = self.cloud.neutron.allocate
        made = self.cloud.neutron.add_fips(self.routers[router], [
            (allocate(), one if isinstance(one, str) else one.port)
            for one in machines])
        with self._lock:
            for fip, one in zip(made, machines):
                self._fips[fip.address] = values.Fip(
                    fip.address, router, fip.logical_ip,
                    '' if isinstance(one, str) else one.node.name)
        return made

    def remove_fips(self, router, fips):
        """Undo :meth:`add_fips`."""
        with self._lock:
            for fip in fips:
                self._fips.pop(fip.address, None)
        self.cloud.neutron.remove_fips(self.routers[router], fips)

    def add_router(self, name, order):
        """A router without machines; see :meth:`remove_router`."""
        router = self.cloud.add_router(name, order)
        with self._lock:
            self.routers[name] = router

    def remove_router(self, name):
        """Delete a router with all that it has."""
        with self._lock:
            router = self.routers.pop(name)
            for address, fip in list(self._fips.items()):
                if fip.router == name:
                    del self._fips[address]
        self.cloud.neutron.remove_router(router)

    def set_vips(self, name, vips):
        """Another file of rules on a gateway."""
        self.meant(name, vips=tuple(vips))
        building.put_rules(self.cloud[name], vips)

    # -- agents -----------------------------------------------------------

    def agent(self, name):
        """The lab.agent.Agent of a gateway."""
        return self.cloud.agents[name]

    def start_agent(self, name, wait=True):
        """Start an agent as systemd does."""
        self.cloud.agents[name].start()
        self.meant(name, agent='running')
        if wait:
            self.wait_ready(name)

    def start_ended(self):
        """Start the agents that have ended, as systemd does."""
        for name, agent in self.cloud.agents.items():
            if self.cloud[name].pid and agent.process.poll() is not None:
                self.start_agent(name)

    def wait_ready(self, name):
        """Wait until an agent is ready."""
        self.cloud.agents[name].wait_ready(_START)
