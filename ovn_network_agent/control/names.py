# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Names that a person knows, for the texts about gateways."""

# Most routers of a group, and most networks, in one name.
_NAMED = 3


def of_router(router):
    """The name of a router: that of Neutron, that of the row, or its UUID.

    :param router: an item of ``routers`` of :func:`report.build`
    """
    return router['neutron_name'] or router['name'] or router['uuid']


def of_group(group, routers):
    """The name of a gateway group: its routers, and their addresses.

    :param group: an item of ``groups`` of :func:`report.build`
    :param routers: dict of UUID to item of ``routers``
    """
    names = _some([of_router(routers[uuid]) for uuid in group['routers']])
    networks = _some([network for port in group['ports']
                      for network in port['networks']])
    found = f'{names} ({networks})' if networks else names
    return found or group['name']


def of_port(port, group, routers):
    """The name of a gateway port, as seen from its group.

    :param port: an item of ``ports`` of the group
    :param group: see :func:`of_group`, as are ``routers``
    """
    if len(group['ports']) == 1:
        return 'gateway port'
    router = routers.get(port['router'])
    of = f' of {of_router(router)}' if router else ''
    return f'gateway port{of} ({_some(port["networks"]) or port["name"]})'


def of_drain(drain, routers):
    """The name of one wish: a router with its UUID, or all.

    :param drain: an item of ``drains`` of :func:`report.build`
    :param routers: see :func:`of_group`
    """
    router = routers.get(drain)
    if router is None or of_router(router) == drain:
        return drain
    return f'{of_router(router)} ({drain})'


def _some(names):
    """The first names of a list, and the number of the others."""
    more = len(names) - _NAMED
    return ', '.join(names[:_NAMED]) + (f' and {more} more' if more > 0
                                        else '')
