# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers



"""The watch of the agent's flows for changes by others.

The privileged side has the flow monitor of Open vSwitch, and passes on notices
of flows that concern the agent (:mod:`privileged.flow_monitor`).  A notice
names the change, for the log alone; its receiver reads the flows anew.
"""

import errno

from ovn_network_agent import notices
from ovn_network_agent.conf import bridges
from ovn_network_agent.privileged import context
from ovn_network_agent.privileged import flow_monitor
from ovn_network_agent.privileged import receiving
from ovn_network_agent.watches import base
from ovn_network_agent.watches import notifications


class FlowWatch(notifications.Watch):
    """A thread that reports changes of the agent's flows by others.

    :param callback: function of the text that names a change, called on the
        thread of the watch; must return soon
    :param bridge: name of the bridge
    """

    NAME = 'flows of Open vSwitch'
    # A bridge that is made anew, and a restarted ovs-vswitchd, take less.
    RETRY = 0.25
    FAILURES = (*context.FAILURES, ValueError)
    EVERYTHING = [(flow_monitor.MISSED,)]
    NEEDED = False

    def __init__(self, callback, bridge):
        super().__init__(callback)
        self._bridge = bridge

    def _open(self):
        return receiving.receive(
            lambda name: flow_monitor.subscribe(name, self._bridge))

    def _news(self, datagrams):
        texts = [data.decode() for data in datagrams if self._alive(data)]
        return [(text,) for text in dict.fromkeys(texts)]

    def _alive(self, data):
        """Whether a datagram is no end of the connection.

        :raises ConnectionResetError: at the end of the connection
        """
        if not data:
            raise ConnectionResetError(
                errno.ECONNRESET, 'the connection to ovs-vswitchd has ended')
        return True


class Flows(base.Observer):
    """Puts the flows in doubt when others change them.

    :param conf: the oslo.config ConfigOpts
    :param pace: :class:`watches.pace.Pace`
    """

    def __init__(self, conf, pace):
        self._pace = pace
        self._watches = [FlowWatch(self._changed, bridge)
                         for bridge in bridges.served(conf)]
        self._stopped = False

    def start(self, trigger):
        """Start the watches.

        :param trigger: not needed, because the pace wakes the loop
        """
        for watch in self._watches:
            watch.start()

    def stop(self):
        """End the watch on a thread of its own."""
        if not self._stopped:
            self._stopped = True
            for watch in self._watches:
                watch.end()

    def _changed(self, text):
        self._pace.notice(notices.FLOWS, text)
