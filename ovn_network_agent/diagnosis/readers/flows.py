# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The flows of the provider bridge: of one address, and those that drop."""

import contextlib
import dataclasses
import os

from ovn_network_agent.diagnosis import readers
from ovn_network_agent.openflow import bridge as bridges
from ovn_network_agent.openflow import connection
from ovn_network_agent.openflow import spec
from ovn_network_agent.openflow import wire


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A flow that is in the place of a wanted flow.

    :ivar cookie: its cookie
    :ivar priority: its priority
    :ivar flow: :class:`openflow.spec.FlowSpec` or
        :class:`openflow.spec.StraySpec`
    :ivar packets: packets that it has taken so far
    """

    cookie: int
    priority: int
    flow: object
    packets: int


@dataclasses.dataclass(frozen=True, slots=True)
class Drop:
    """A flow of another program that drops.

    :ivar cookie: its cookie
    :ivar priority: its priority
    :ivar selection: :class:`openflow.spec.Selection`
    """

    cookie: int
    priority: int
    selection: object


def flow_spec(resource):
    """The :class:`openflow.spec.FlowSpec` of a :class:`resources.Flow`."""
    return spec.FlowSpec(
        resource.cookie, resource.priority, resource.in_port,
        resource.family, resource.dst, resource.set_src, resource.set_dst,
        resource.output)


def read(conf, wanted):
    """Look for wanted flows.

    :param conf: the oslo.config ConfigOpts
    :param wanted: tuple of :class:`resources.Flow`, all of one bridge
    :returns: dict of each wanted flow to a tuple of :class:`Found`
    :raises readers.Unread: when the switch cannot be asked
    """
    if not wanted:
        return {}
    found = _asked(conf, wanted[0].bridge, lambda switch: bridges.look_up(
        switch, [flow_spec(flow) for flow in wanted]))
    return {flow: tuple(Found(*each) for each in places)
            for flow, places in zip(wanted, found, strict=True)}


def read_drops(conf, bridge):
    """The flows of other programs that drop, in the first table.

    :param conf: the oslo.config ConfigOpts
    :param bridge: name of the bridge
    :returns: tuple of :class:`Drop`, the highest priority first
    :raises readers.Unread: when the switch cannot be asked
    """
    return tuple(sorted((Drop(*each) for each in _asked(
        conf, bridge, bridges.drops)), key=lambda each: -each.priority))


def _asked(conf, bridge, question):
    """The result of a function(:class:`connection.Switch`)."""
    path = os.path.join(conf.ovs.ovs_rundir, f'{bridge}.mgmt')
    try:
        with contextlib.closing(connection.Switch(path)) as switch:
            return question(switch)
    except OSError as error:
        raise readers.Unread(readers.reason(error)) from error
    except wire.Malformed as error:
        raise readers.Unread(f'{path}: {error}') from error
