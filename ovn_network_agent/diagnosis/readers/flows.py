# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The flows of the provider bridge: of one address, and those that drop."""

from collections.abc import Callable
from collections.abc import Sequence
import contextlib
import dataclasses
import os
import typing

from oslo_config import cfg

from ovn_network_agent import resources
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.openflow import bridge as bridges
from ovn_network_agent.openflow import connection
from ovn_network_agent.openflow import spec
from ovn_network_agent.openflow import wire

_Answer = typing.TypeVar('_Answer')


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A flow that is in the place of a wanted flow."""

    cookie: int
    priority: int
    flow: spec.FlowSpec | spec.StraySpec
    packets: int  # packets that it has taken so far


@dataclasses.dataclass(frozen=True, slots=True)
class Drop:
    """A flow of another program that drops."""

    cookie: int
    priority: int
    selection: spec.Selection


def flow_spec(resource: resources.Flow) -> spec.FlowSpec:
    """The :class:`openflow.spec.FlowSpec` of a :class:`resources.Flow`."""
    return spec.FlowSpec(
        resource.cookie, resource.priority, resource.in_port,
        resource.family, resource.dst, resource.set_src, resource.set_dst,
        resource.output)


def read(conf: cfg.ConfigOpts, wanted: Sequence[resources.Flow]
         ) -> dict[resources.Flow, tuple[Found, ...]]:
    """Look for wanted flows, all of one bridge."""
    if not wanted:
        return {}
    found = _asked(conf, wanted[0].bridge, lambda switch: bridges.look_up(
        switch, [flow_spec(flow) for flow in wanted]))
    return {flow: tuple(Found(*each) for each in places)
            for flow, places in zip(wanted, found, strict=True)}


def read_drops(conf: cfg.ConfigOpts, bridge: str) -> tuple[Drop, ...]:
    """What other programs drop in the first table, by falling priority."""
    return tuple(sorted((Drop(*each) for each in _asked(
        conf, bridge, bridges.drops)), key=lambda each: -each.priority))


def _asked(conf: cfg.ConfigOpts, bridge: str,
           question: Callable[[connection.Switch], _Answer]) -> _Answer:
    path = os.path.join(conf.ovs.ovs_rundir, f'{bridge}.mgmt')
    try:
        with contextlib.closing(connection.Switch(path)) as switch:
            return question(switch)
    except OSError as error:
        raise readers.Unread(readers.reason(error)) from error
    except wire.Malformed as error:
        raise readers.Unread(f'{path}: {error}') from error
