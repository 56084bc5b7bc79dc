# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend flow: OpenFlow flows on the provider bridges, marked by cookie.

A flow with such a cookie and a match that the agent never writes is a
:class:`StrayFlow`, which no driver wants, so it is deleted. A flow with
another cookie is never touched; a wanted flow with its match fails.
"""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Sequence
import dataclasses
import shutil
from typing import Any
from typing import TypeAlias

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import calls
from ovn_network_agent.common import bridges
from ovn_network_agent.common import notices
from ovn_network_agent.openflow import spec as specs
from ovn_network_agent.privileged.switch import openflow


@dataclasses.dataclass(frozen=True, slots=True)
class StrayFlow(resources.Resource):
    """A flow with the agent's cookie and a match that it never writes."""

    bridge: str
    cookie: int
    table: int
    priority: int
    # See openflow.spec.StraySpec.
    match: str

    kind = 'stray_flow'
    stage = resources.Stage.FLOW

    @property
    def key(self) -> tuple[str, int, int, int, str]:
        """(bridge, cookie, table, priority, match)."""
        return (self.bridge, self.cookie, self.table, self.priority,
                self.match)


_Flow: TypeAlias = resources.Flow | StrayFlow


class FlowBackend(base.Backend):
    """OpenFlow flows that carry a cookie of the agent."""

    name = 'flow'
    kinds = (resources.Flow, StrayFlow)
    doubted_by = (notices.INTERFACES, notices.FLOWS,
                  notices.SWITCH_RESTARTED)
    revived_by = (notices.SWITCH_RESTARTED,)

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        self._memory = base.Memory[_Flow]()

    def check(self) -> list[str]:
        """The program of ``[ovs] ovs_wrapper``, if one is set, has to exist.
        """
        wrapper = self.conf.ovs.ovs_wrapper.split()
        if not wrapper or shutil.which(wrapper[0]):
            return []
        return [f'[ovs] ovs_wrapper: {wrapper[0]} is not found']

    def read(self, known: base.Known) -> Sequence[resources.Resource]:
        """Read the flows with a cookie of the agent.

        :param known: their bridges are read, and the served bridges always
        :raises base.BackendError: when a bridge does not answer
        """
        return self.reread(lambda: known, None)[0] or []

    def reread(self, known: Callable[[], base.Known], mark: Any
               ) -> base.Reading:
        """Likewise, unless the flows are the same as at a reading.

        :param mark: by bridge the digest of its flows
        :raises base.BackendError: as :meth:`read`
        """
        if mark and all(self._portions(bridge, digest)[0] is None
                        for bridge, digest in mark.items()):
            return None, mark
        # An earlier run may have left flows on any provider bridge.
        wanted = {str(ref.key[0]) for ref in known()} | set(
            bridges.served(self.conf))
        portions: list[tuple[Hashable, list[_Flow] | None]] = []
        digests = {}
        for bridge in sorted(wanted):
            some, digests[bridge] = self._portions(bridge)
            portions += [((bridge, digest), None if flows is None else [
                _resource(bridge, item) for item in flows])
                for digest, flows in some]
        return (self._memory.take(portions),
                digests if all(digests.values()) else None)

    def _portions(self, bridge: str, previous: str = '') -> Any:
        """The flows of a bridge, see :func:`openflow.dump_flows`.

        A missing further bridge does not hold up the default bridge: its flows
        count as missing, so the next change says why it failed.
        """
        try:
            with calls.explained(f'flows of bridge {bridge}'):
                return openflow.dump_flows(bridge, previous, [
                    digest for other, digest in self._memory.keys
                    if other == bridge and not previous])
        except base.BackendError:
            if bridge == self.conf.bridge_dev:
                raise
            return [], ''

    def apply(self, delta: base.Delta) -> base.Failures:
        """Change the flows, bridge by bridge.

        :returns: also all changes of a bridge that does not answer
        :raises base.BackendError: when the only bridge does not answer
        """
        wanted = resources.of_kind(resources.Flow, delta.wanted)
        unwanted: list[_Flow] = [
            r for r in delta.delete
            if isinstance(r, resources.Flow | StrayFlow)]
        failures: base.Failures = {}
        unreachable = None
        concerned = {flow.bridge for flow in (*wanted, *unwanted)}
        for bridge in sorted(concerned):
            try:
                failures.update(self._apply(
                    bridge, [f for f in wanted if f.bridge == bridge],
                    [f for f in unwanted if f.bridge == bridge]))
            except base.BackendError as error:
                unreachable = error
                failures.update({flow.ref: str(error)
                                 for flow in (*wanted, *unwanted)
                                 if flow.bridge == bridge})
        if unreachable is not None and len(concerned) == 1:
            raise unreachable
        return failures

    def _apply(self, bridge: str, wanted: list[resources.Flow],
               unwanted: list[_Flow]) -> base.Failures:
        flows = [f for f in unwanted if f.kind == resources.Flow.kind]
        strays = [f for f in unwanted if f.kind == StrayFlow.kind]
        with calls.explained(f'flows of bridge {bridge}'):
            failures = openflow.change_flows(
                bridge, *([_fields(f) for f in some]
                          for some in (wanted, flows, strays)))
        return calls.of_lists(failures, adds=wanted, deletes=flows,
                              strays=strays)


def _fields(resource: _Flow) -> list[Any]:
    """All fields without the bridge, in the order of the specs."""
    names = (specs.FlowSpec._fields if resource.kind == resources.Flow.kind
             else specs.StraySpec._fields)
    return [getattr(resource, name) for name in names]


def _resource(bridge: str, item: Sequence[Any]) -> _Flow:
    if len(item) == len(specs.StraySpec._fields):
        return StrayFlow(bridge, *item)
    return resources.Flow(bridge, *item)
