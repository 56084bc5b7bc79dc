# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The interface of drivers.

A driver names the OVN tables that it needs, and turns the frozen view
(:mod:`ovn_network_agent.model`) into resources.  A driver is pure: it has no
I/O and no memory, and the same settings and view give the same output.  The
engine does everything else: difference, order, repetition, restart, drain,
clean-up and dry run.  A third-party driver is one class and one entry point in
``ovn_network_agent.drivers``.
"""

import abc
import dataclasses

DATABASES = ('nb', 'sb', 'ovs')
ALL_EVENTS = ('create', 'update', 'delete')


@dataclasses.dataclass(frozen=True, slots=True)
class Watch:
    """A subscription: changes of a table that have to wake the loop.

    It becomes an ovsdbapp RowEvent whose ``run()`` only fires the trigger.

    :ivar database: 'nb', 'sb' or 'ovs'
    :ivar table: table name
    :ivar columns: columns to replicate; an update wakes the loop only when
        one of them changed
    :ivar conditions: tuple of (column, '=', value) the row has to match
    :ivar urgent: wake without coalescing
    :ivar stale: words of :mod:`ovn_network_agent.notices` that tell backends
        to read their state again
    """

    database: str
    table: str
    columns: tuple[str, ...]
    conditions: tuple[tuple[str, str, object], ...] = ()
    events: tuple[str, ...] = ALL_EVENTS
    urgent: bool = False
    stale: tuple[str, ...] = ()


class Driver(abc.ABC):
    """Turns the view of this chassis into resources.

    :cvar CONFIG_OPTS: oslo.config options, registered in the group with the
        name of the driver before the driver is made; a required option that
        is not set is an error at the start
    :cvar OTHER_OPTIONS: names of options that the driver reads beside its
        own section and :data:`conf.settings.NODE`, as ``section.option``
    :cvar SUBJECTS: tuple of the classes of the subjects that the driver
        answers about, see :meth:`resources`
    :cvar SOURCES: tuple of the classes of :class:`drivers.source.Source` that
        make subjects of kinds that the core does not have
    :cvar ASKS: services of the core for this driver, of
        :data:`conf.plugins.RANKING` and :data:`conf.plugins.ABSENCE`
    :param name: name of the entry point
    :param settings: :class:`conf.settings.Settings`; after a reload with
        other settings, the core makes a new driver
    """

    CONFIG_OPTS = ()
    OTHER_OPTIONS = ()
    SUBJECTS = ()
    SOURCES = ()
    ASKS = ()

    def __init__(self, name, settings):
        self.name = name
        self.settings = settings

    @classmethod
    def runs_without_ovn(cls, settings):
        """Whether the port-forward-only mode has a use for this driver.

        :param settings: :class:`conf.settings.Settings`
        """
        return False

    def events(self):
        """The :class:`Watch` subscriptions, an iterable.

        The agent itself watches the tables of the view; a driver only names
        further tables and columns.
        """
        return ()

    def resources(self, subject, node):
        """What is wanted for a subject, by the subject and the node alone.

        The core remembers each answer, and asks again when the subject, the
        node or the settings have changed.  It asks about subjects of the
        kinds :attr:`SUBJECTS` alone.

        :param subject: an object of one of these classes:
            :class:`model.Node`, the node again;
            :class:`model.Router`, without NAT rows;
            :class:`model.ServedAddress`;
            :class:`model.GatewayGroup`, in which this chassis may be only a
            standby; :class:`port_forwards.Forwards`, all port forwards, with
            a rules file
        :param node: :class:`model.Node`
        :returns: iterable of :class:`resources.Resource`
        """
        return ()
