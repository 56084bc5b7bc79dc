# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The services that the configured drivers ask of the core.

Drivers' classes declare them, so the core names no driver, and those of third
parties get the same.
"""

import functools
from typing import Any

DRIVERS = 'ovn_network_agent.drivers'
BACKENDS = 'ovn_network_agent.backends'

# It writes the priorities of gateway candidates.  The core serves a leaving
# port until the next owner does, drains at a stop, and judges this node's BGP.
RANKING = 'ranking'
# It writes rows with this chassis' host name.  The core finds the chassis that
# are gone for good.
ABSENCE = 'absence'
# It announces machines on provider networks.  The core has SB send the ports
# of this chassis, and finds the addresses.
MACHINES = 'machines'
UNDERLAY = 'underlay'
VNIS = 'vnis'
# The core withholds virtual IPs without backends.
BACKENDS_OF_VIPS = 'backends'
VIPS = 'vips'
# The core finds the prefixes of tenants' networks behind routers.
TENANTS = 'tenants'
STATIC_ROUTES = 'static_routes'  # it reads those of all routers
# It translates on links.  The core finds their networks and routes.
LINKS = 'links'

SERVICES = (RANKING, ABSENCE, MACHINES, UNDERLAY, VNIS, BACKENDS_OF_VIPS, VIPS,
            TENANTS, STATIC_ROUTES, LINKS)


def requested(conf: Any, what: str) -> bool:
    """Whether a configured driver asks for one of :data:`SERVICES`.

    The loader refuses drivers that are not installed: they do not count.
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

    A package being replaced has none for a moment: after a second reading, a
    driver would run that asks for nothing.
    """
    # Pure packages import this module, and importlib.metadata socket.
    from importlib import metadata
    return metadata.entry_points()


@functools.cache
def _names(group: str) -> frozenset[str]:
    return frozenset(point.name for point in everything().select(group=group))


@functools.cache
def _class(group: str, name: str) -> Any:
    found = list(everything().select(group=group, name=name))
    return found[0].load() if found else None
