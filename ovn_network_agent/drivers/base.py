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
    columns: tuple
    conditions: tuple = ()
    events: tuple = ALL_EVENTS
    urgent: bool = False
    stale: tuple = ()


class Driver(abc.ABC):
    """Turns the view of this chassis into resources.

    :cvar CONFIG_OPTS: oslo.config options, registered in the group with the
        name of the driver before the driver is made; a required option that
        is not set is an error at the start
    :cvar OTHER_OPTIONS: names of options that the driver reads beside its
        own section and :data:`conf.settings.NODE`, as ``section.option``
    :cvar ASKS: services of the core for this driver, of
        :data:`conf.plugins.RANKING` and :data:`conf.plugins.ABSENCE`
    :param name: name of the entry point
    :param settings: :class:`conf.settings.Settings`; after a reload with
        other settings, the core makes a new driver
    """

    CONFIG_OPTS = ()
    OTHER_OPTIONS = ()
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

        :param group: :class:`model.GatewayGroup`, in which this chassis may
            be only a standby
        :param node: :class:`model.Node`
        :returns: iterable of :class:`resources.Resource`
        """
        return ()

    def for_router(self, router, node):
        """Resources of one router.

        A driver defines either this method, or :attr:`for_nats` and
        :meth:`for_rest`, which this method then puts together.

        :param router: :class:`model.Router`
        :param node: :class:`model.Node`
        :returns: iterable of :class:`resources.Resource`
        """
        if self.for_nats is None:
            return ()
        bare, common = dataclasses.replace(router, nats=()), ()
        if self.common is not None:
            common = (self.common(bare, node),)
        of_nats = () if common == (None,) else [
            resource for _nat, found
            in self.for_nats(dataclasses.replace(bare, default_routes=()),
                             router.nats, node, *common)
            for resource in found]
        # Several NAT rows may have one address.
        return tuple(dict.fromkeys((
            *self.for_rest(router, node, of_nats), *of_nats)))

    #: For a driver whose answer about a NAT row depends on this row, on the
    #: router without its NAT rows and default routes, and on the node, and on
    #: nothing else: a method for_nats(router, nats, node).  The arguments are
    #: such a router, a sequence of :class:`model.Nat` and the node; the result
    #: is an iterable of (NAT row, iterable of :class:`resources.Resource`).
    #: The core asks about the rows that have changed, and keeps the answers
    #: about the others.  So one floating IP costs the same beside ten and
    #: thousands.
    for_nats = None

    #: Beside :attr:`for_nats`, a method common(router, node) about a router
    #: without its NAT rows, whose result is what the answers about all NAT
    #: rows have in common, any value.  The core passes the value to for_nats
    #: as a further argument, and asks again only after a change of the router,
    #: the node or the settings.  None says that the NAT rows make no
    #: difference: then the core asks about none of them, and asks
    #: :meth:`for_rest` only after such a change.  If the new value is equal to
    #: the former one, only the remarks are asked for again.
    common = None

    def remark(self, nat, common):
        """What :meth:`for_rest` goes by of one NAT row.

        Asked only with :attr:`common`, about rows that come, and about all
        rows after a change of the router.  for_rest is asked again when a
        remark comes, changes or goes.

        :param nat: :class:`model.Nat`
        :param common: the result of :attr:`common`
        :returns: any value with ==; None for a row without which for_rest
            would answer the same
        """
        return nat

    def for_rest(self, router, node, of_nats):
        """Resources of one router but for those of single NAT rows.

        Asked only with :attr:`for_nats`, and again after each change of a NAT
        row; see :meth:`remark` for an exception.

        :param router: :class:`model.Router`, with its NAT rows
        :param node: :class:`model.Node`
        :param of_nats: iterable of the resources of all NAT rows of the
            router, for one reading, which takes the time of their number
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
