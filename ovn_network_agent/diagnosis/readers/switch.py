# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The wiring of this node, the devices that drivers may ask for, and flows of
the provider bridge."""

from collections.abc import Callable
from collections.abc import Sequence
import contextlib
import os
import typing

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.model.node import Wiring
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.openflow import bridge as bridges
from ovn_network_agent.openflow import connection as switches
from ovn_network_agent.openflow import spec
from ovn_network_agent.openflow import wire
from ovn_network_agent.ovn import local_state
from ovn_network_agent.ovs import wiring
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import query

_Answer = typing.TypeVar('_Answer')


def read(conf: cfg.ConfigOpts) -> Wiring:
    """The wiring of this node, with its devices."""
    with readers.Session(conf, 'ovs') as session:
        _select(session, conf.bridge_dev)
        found = wiring.read(session.tables, ())
        return found._replace(
            devices=devices(
                conf.bridge_dev, conf.frr.vrf_name,
                *(bridge for _network, bridge in found.mappings)),
            tunnel=local_state.tunnel(conf))


def _select(session: query.Session, bridge_dev: str) -> None:
    roots, = session.select(('Open_vSwitch',))
    mappings = [wiring.bridge_mappings(root.external_ids) for root in roots]
    bridges = {bridge_dev, *(bridge for mapping in mappings
                             for _network, bridge in mapping)}
    found = session.select(*(('Bridge', ['name', '==', bridge])
                             for bridge in sorted(bridges)))
    ports = session.by_uuid('Port', (
        key for rows in found for row in rows
        for key in columns.referenced(row, 'ports')))
    session.by_uuid('Interface', (
        key for port in ports
        if ('ovn-localnet-port' in port.external_ids or
            ownership.is_managed(port.external_ids))
        for key in columns.referenced(port, 'interfaces')))


def devices(*names: str) -> tuple[model.Device, ...]:
    """Some devices, without '' and missing ones; OSError from the kernel."""
    with connection.Connection() as kernel:
        found = links.named(kernel, sorted({*names, *ownership.VETH_ENDS} -
                                           {''}))
        return tuple(links.device(kernel, name, found)
                     for name in sorted(found))


def node(*names: str, **values: typing.Any) -> model.Node:
    """A node of which OVN says nothing; OSError from the kernel."""
    return model.Node('', '', model.Phase.RUNNING, devices(*names),
                      **values)


class Found(typing.NamedTuple):
    """A flow that is in the place of a wanted flow."""

    cookie: int
    priority: int
    flow: spec.FlowSpec | spec.StraySpec
    packets: int  # packets that it has taken so far


class Drop(typing.NamedTuple):
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


def read_flows(conf: cfg.ConfigOpts, wanted: Sequence[resources.Flow]
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
           question: Callable[[switches.Switch], _Answer]) -> _Answer:
    path = os.path.join(conf.ovs.ovs_rundir, f'{bridge}.mgmt')
    try:
        with readers.unread(), contextlib.closing(
                switches.Switch(path)) as switch:
            return question(switch)
    except wire.Malformed as error:
        raise readers.Unread(f'{path}: {error}') from error
