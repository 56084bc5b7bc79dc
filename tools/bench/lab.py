# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Cost in the lab: python3 -m lab run -- .venv/bin/python -m tools.bench.lab

The same as tools.bench.endtoend with all of OVN and a provider VRF, inside
the lab's machine, on the gateway gw1.  There a process costs 100 ms and more,
and so their number matters: "launched" are those on the gateway.
"""

from collections import abc
import ipaddress
import time

from lab import cloud as clouds
from lab import plan
from tools.bench import observe
from tools.bench import samples


class World:
    """A cloud with one gateway."""

    def __init__(self, cloud, routers: int):
        self.routers = routers
        # Each has an address of its own; and the provider network.
        self.along = routers + 1
        self._cloud = cloud
        self._neutron = cloud.neutron
        self._node = cloud['gw1']
        self._routers = [
            cloud.neutron.add_router(f'r{n}', {'gw1': 1}, snat=False,
                                     address=address)
            for n, address in enumerate(samples.gateways(routers))]
        for router in self._routers:
            cloud.wait_owner(router, 'gw1')
        self._fips = {}
        self._agent = None

    def add_fips(self, addresses: abc.Iterable[str], router: int = 0) -> float:
        """Floating IPs in one transaction."""
        started = time.monotonic()
        fips = self._neutron.add_fips(self._routers[router], [
            (address, '10.0.0.5') for address in addresses])
        self._fips.update((fip.address, fip) for fip in fips)
        return started

    def remove_fips(self, addresses) -> float:
        """The reverse of :meth:`add_fips`, for addresses of the first router.
        """
        started = time.monotonic()
        self._neutron.remove_fips(self._routers[0], [
            self._fips.pop(address) for address in addresses])
        return started

    def launched(self):
        """How many tasks were launched on the gateway so far."""
        return self._node.launched()

    def observer(self):
        """A new :class:`observe.Observer` of the gateway."""
        return observe.Observer(plan.BRIDGE, self._node, plan.VRF)

    def start_agent(self, method) -> float:
        """Start the agent on the gateway."""
        self._agent = self._cloud.agent('gw1', {
            'DEFAULT': {'debug': 'false'},
            'fip_route': {'announce_method': method}})
        started = time.monotonic()
        self._agent.start()
        return started

    def stop_agent(self):
        """End the agent in good order, once it is ready.

        :raises RuntimeError: with the end of its log, if it fails
        """
        self._agent.wait_ready()
        status = self._agent.stop()
        if status:
            raise RuntimeError(f'the agent ended with status {status:d}:\n'
                               f'{self._agent.log()[-2000:]}')


def main():
    args = samples.parser(__doc__, 100).parse_args()
    # Room for more than the 250 addresses of the tests.
    provider = ipaddress.ip_network('198.18.0.0/16')
    with clouds.Cloud(gateways=1, provider=provider) as cloud:
        samples.run(World(cloud, args.routers), args)
        if args.debug:
            print(cloud.agents['gw1'].log())


if __name__ == '__main__':
    main()
