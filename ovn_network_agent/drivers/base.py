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

"""What a driver is.

A driver says which OVN tables matter to it and turns the frozen view
(:mod:`ovn_network_agent.model`) into resources.  It is pure: no I/O, no
memory, and the same settings and view give the same output.  Everything
else (difference,
order, retry, restart, drain, clean-up, dry run) follows from that and is
not the driver's business.  A third-party driver is one class and one entry
point in ``ovn_network_agent.drivers``.
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
    columns: tuple
    conditions: tuple = ()
    events: tuple = ALL_EVENTS
    urgent: bool = False
    stale: tuple = ()


class Driver(abc.ABC):
    """Turns the view of this chassis into resources.

    :cvar CONFIG_OPTS: oslo.config options, registered in the group named
        like the driver before it is created; one that is required and not
        set is an error at the start
    :cvar OTHER_OPTIONS: names of options that the driver reads beside its
        own section and :data:`conf.settings.NODE`, as ``section.option``
    :cvar ASKS: what the core has to do for this driver, of
        :data:`conf.plugins.RANKING` and :data:`conf.plugins.ABSENCE`
    :param name: name of the entry point
    :param settings: :class:`conf.settings.Settings`; after a reload that
        changes them the core makes another driver of them
    """

    CONFIG_OPTS = ()
    OTHER_OPTIONS = ()
    ASKS = ()

    def __init__(self, name, settings):
        self.name = name
        self.settings = settings
        # The name that packages had for them first.
        self.conf = settings

    @classmethod
    def runs_without_ovn(cls, settings):
        """Whether an agent that only forwards ports has a use for it.

        :param settings: :class:`conf.settings.Settings`
        """
        return False

    def events(self):
        """The :class:`Watch` subscriptions, an iterable.

        The agent itself watches the tables that the view is built from;
        a driver only names what it needs beyond them.
        """
        return ()

    # The core remembers each answer with the settings and the arguments,
    # and asks again when one of them differs.

    def for_node(self, node):
        """Resources that depend on the node alone.

        :param node: :class:`model.Node`
        :returns: iterable of :class:`resources.Resource`
        """
        return ()

    def for_group(self, group, node):
        """Resources of one gateway group.

        :param group: :class:`model.GatewayGroup`, also one that this
            chassis is only a standby of
        :param node: :class:`model.Node`
        :returns: iterable of :class:`resources.Resource`
        """
        return ()

    def for_router(self, router, node):
        """Resources of one router.

        :param router: :class:`model.Router`
        :param node: :class:`model.Node`
        :returns: iterable of :class:`resources.Resource`
        """
        return ()

    def for_forwards(self, forwards, node):
        """Resources of all port forwards.

        :param forwards: :class:`port_forwards.Forwards`; not asked without a
            rules file
        :param node: :class:`model.Node`
        :returns: iterable of :class:`resources.Resource`
        """
        return ()
