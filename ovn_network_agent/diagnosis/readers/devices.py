# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The devices of this node that the drivers may ask for."""

import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import links


def read(*names: str) -> tuple[model.Device, ...]:
    """Some devices, by one question for each.

    :param names: '' is left aside
    :returns: without devices that are missing
    :raises OSError: when the kernel does not answer
    """
    with connection.Connection() as kernel:
        found = links.named(kernel, sorted({*names, *ownership.VETH_ENDS} -
                                           {''}))
        return tuple(links.device(kernel, name, found)
                     for name in sorted(found))


def node(*names: str, **values: typing.Any) -> model.Node:
    """A node of which OVN says nothing.

    :param values: further fields of the node
    :raises OSError: when the kernel does not answer
    """
    return model.Node('', '', model.Phase.RUNNING, read(*names), **values)
