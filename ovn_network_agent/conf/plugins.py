# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The services that the configured drivers ask of the core.

The classes of drivers declare these services.  So the core names no driver,
and a third party's driver gets the same services.
"""

import functools
from typing import Any

DRIVERS = 'ovn_network_agent.drivers'
BACKENDS = 'ovn_network_agent.backends'

# The driver writes the priorities of gateway candidates.  The core serves a
# leaving port until the next owner does, drains at a stop, and judges the BGP
# of this node.
RANKING = 'ranking'
# The driver writes rows with the host name of this chassis.  The core finds
# the chassis that are gone for good.
ABSENCE = 'absence'
# The driver announces machines on provider networks.  The core has SB send
# the ports of this chassis, and finds the addresses.
MACHINES = 'machines'
UNDERLAY = 'underlay'
VNIS = 'vnis'
# The driver has the core withhold virtual IPs without backends.
BACKENDS_OF_VIPS = 'backends'
VIPS = 'vips'
# The driver announces networks of tenants behind routers.  The core finds
# their prefixes.
TENANTS = 'tenants'
# The driver reads the static routes of all routers.
STATIC_ROUTES = 'static_routes'
# The driver translates on links of the node.  The core finds their networks
# and routes.
LINKS = 'links'

SERVICES = (RANKING, ABSENCE, MACHINES, UNDERLAY, VNIS, BACKENDS_OF_VIPS, VIPS,
            TENANTS, STATIC_ROUTES, LINKS)


def requested(conf: Any, what: str) -> bool:
    """Whether a configured driver asks for something.

    Drivers that are not installed do not count, because the loader refuses
    them.

    :param what: one of :data:`SERVICES`
    """
    return any(what in getattr(_class(DRIVERS, name), 'ASKS', ())
               for name in conf.drivers)


def installed() -> frozenset[str]:
    """Names of all drivers and backends that are installed."""
    return _names(DRIVERS) | _names(BACKENDS)


def options(conf: Any) -> list[tuple[str, Any]]:
    """The options of the configured drivers and of all backends, by group."""
    plugins = [(name, _class(DRIVERS, name)) for name in conf.drivers]
    plugins += [(name, _class(BACKENDS, name))
                for name in sorted(_names(BACKENDS))]
    return [(name, declared) for name, plugin in plugins
            if (declared := getattr(plugin, 'CONFIG_OPTS', ()))]


@functools.cache
def everything() -> Any:
    """The entry points of all installed packages, read once.

    A package that is being replaced has none for a moment.  With a second
    reading, a driver would run that asks for nothing.
    """
    # This import is not at the top, because pure packages import this module
    # and importlib.metadata imports socket.
    from importlib import metadata
    return metadata.entry_points()


@functools.cache
def _names(group: str) -> frozenset[str]:
    return frozenset(point.name for point in everything().select(group=group))


@functools.cache
def _class(group: str, name: str) -> Any:
    """The class of a plugin, None if the plugin is not installed."""
    found = list(everything().select(group=group, name=name))
    return found[0].load() if found else None
