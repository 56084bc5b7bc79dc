# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What agents leave behind at a stop that hands over nothing."""


class LeavesNothing:
    """A part of a LabTestCase.

    :ivar before: dict of gateway to what :meth:`left` gave before the agents
        had anything to do
    """

    before = {}

    @classmethod
    def left(cls, name):
        """The objects of an agent on a gateway: sorted lines."""
        raise NotImplementedError

    def test_nothing_is_left(self):
        """After a stop that hands over nothing, nothing of it is there."""
        agents = [self.cloud.agents[name] for name in self.cloud.gateways]
        for name in self.cloud.gateways:
            self.reconfigure(name, 'gateway_drain', drain_on_shutdown='false')
        try:
            for agent in agents:
                self.assertEqual(0, agent.stop())
            self.assertEqual(self.before, {
                name: self.left(name) for name in self.cloud.gateways})
        finally:
            for agent in agents:
                del agent.config['gateway_drain']['drain_on_shutdown']
                agent.start()
                agent.wait_ready()
