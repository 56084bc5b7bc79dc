# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The interface of drivers.

A driver names the OVN tables that it needs, and turns the frozen view
(:mod:`ovn_network_agent.model`) into resources.  It is pure: no I/O, no
memory, and the same settings and view give the same output.  The engine does
everything else.  A third-party driver is one class and one entry point in
``ovn_network_agent.drivers``.
"""

import abc
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import typing

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.drivers import source

DATABASES = ('nb', 'sb', 'ovs')
ALL_EVENTS = ('create', 'update', 'delete')

Resource: typing.TypeAlias = resources.Resource
Wanted: typing.TypeAlias = Iterable[Resource]
Refs: typing.TypeAlias = tuple[resources.Ref, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Watch:
    """A subscription: changes of a table that have to wake the loop."""

    # One of DATABASES.
    database: str
    table: str
    # An update wakes the loop only when one of them changed.
    columns: tuple[str, ...]
    # (column, '=', value) that the row has to match.
    conditions: tuple[tuple[str, str, typing.Any], ...] = ()
    events: tuple[str, ...] = ALL_EVENTS
    # Whether to wake without coalescing.
    urgent: bool = False
    # Words of the module notices: backends read their state again.
    stale: tuple[str, ...] = ()


class Layer(typing.NamedTuple):
    """A line of the command explain."""

    name: str
    # 'OK', 'WARN', 'BROKEN' or 'NOT CHECKED'.
    verdict: str
    evidence: str
    # Only for 'WARN' and 'BROKEN'.
    remedy: str = ''


class Driver(abc.ABC):
    """Turns the view of this chassis into resources.

    :param name: of the entry point
    :param settings: :class:`conf.settings.Settings`; a reload with other
        settings makes a new driver
    """

    # Of oslo.config, in the group with the name of the driver; a required
    # option that is not set is an error at the start.
    CONFIG_OPTS: typing.ClassVar[Sequence[typing.Any]] = ()
    # "section.option" of what it reads beside its own section and
    # conf.settings.NODE.
    OTHER_OPTIONS: typing.ClassVar[tuple[str, ...]] = ()
    # The classes of the subjects that the driver answers about.
    SUBJECTS: typing.ClassVar[tuple[type, ...]] = ()
    # For subjects of kinds that the core does not have.
    SOURCES: typing.ClassVar[tuple[type[source.Source], ...]] = ()
    # Some of conf.plugins.SERVICES: what the core does for this driver.
    ASKS: typing.ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str, settings: typing.Any) -> None:
        self.name = name
        # The options are attributes that exist at run time alone.
        self.settings = settings

    @classmethod
    def runs_without_ovn(cls, settings: typing.Any) -> bool:
        """Whether the port-forward-only mode has a use for this driver."""
        return False

    def events(self) -> Iterable[Watch]:
        """Further tables and columns; the agent watches those of the view."""
        return ()

    # A driver names the classes of its SUBJECTS in its own signature.
    def resources(self, subject: typing.Any, node: model.Node) -> Wanted:
        """What is wanted for a subject, by the subject and the node alone.

        The core remembers each answer, and asks again when the subject, the
        node or the settings have changed.

        :param subject: an object of one of the :attr:`SUBJECTS`:
            :class:`model.Node`, the node again; :class:`model.Router`, without
            NAT rows; :class:`model.ServedAddress`;
            :class:`model.ProviderNetwork` and :class:`model.PortAddress`, if a
            driver asks for MACHINES; :class:`model.TenantPrefix`, if a driver
            asks for TENANTS; :class:`model.GatewayGroup`, in which this
            chassis may be only a standby; :class:`port_forwards.Forwards`, all
            port forwards, with a rules file
        """
        return ()

    def explain(self, subject: typing.Any, address: str) -> Iterable[Layer]:
        """What the command explain says beside the state of the resources.

        Called in the process of the command, as root, for a subject of a
        source with a resource about the address.  Here a driver may read the
        systems of the node, and may block.
        """
        return ()
