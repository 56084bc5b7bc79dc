# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The parts of netlink that the agent needs.

pyroute2 encodes and decodes messages (:mod:`netlink.messages`).
:mod:`netlink.connection` sends many messages at once.  Routes have a codec of
their own, because there are thousands (:mod:`netlink.route_codec`).  Dumps
need no privileges and run in the agent; changes run on the privileged side.
"""

from ovn_network_agent.netlink import on_demand

# This comes before the first import of a module of pyroute2.
on_demand.prepare()
