# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The wiring of this node, and the devices that drivers may ask for."""

import dataclasses
import typing

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import ovsdb
from ovn_network_agent import ownership
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.model import wiring as wirings
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.ovn import local_state
from ovn_network_agent.ovs import wiring
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import single_query


def read(conf: cfg.ConfigOpts, timeout: float) -> wirings.Wiring:
    """The wiring of this node, with its devices."""
    try:
        with single_query.Session([conf.ovs.ovsdb_connection],
                                  ovsdb.SCHEMAS['ovs'], timeout) as session:
            _select(session, conf.bridge_dev)
            found = wiring.read(session.tables, ())
        return dataclasses.replace(found, devices=devices(
            conf.bridge_dev, conf.frr.vrf_name,
            *(bridge for _network, bridge in found.mappings)),
            tunnel=local_state.tunnel(conf))
    except (single_query.Failed, OSError) as error:
        raise readers.Unread(readers.reason(error)) from error


def _select(session: single_query.Session, bridge_dev: str) -> None:
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
