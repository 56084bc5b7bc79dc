# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The second transport of flows, where no management socket can be reached:
ovs-ofctl behind a command, as ``docker exec -i openvswitch_vswitchd``, two or
three processes a change.
"""

from collections.abc import Container
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Sequence
import errno

from ovn_network_agent import ownership
from ovn_network_agent.openflow import ofctl_text as text
from ovn_network_agent.openflow import spec as specs
from ovn_network_agent.privileged.daemon import command

# seconds; ovs-ofctl's is shorter, because it survives a killed wrapper
_INNER_LIMIT = 20
_LIMIT = 25.0
# fields of a FlowSpec up to its actions
_IDENTITY = 5
_Spec = specs.FlowSpec | specs.StraySpec
# reasons by the name of the failed step
_Failures = dict[Hashable, str]


class Command:
    """ovs-ofctl for one bridge, whose name is checked."""

    def __init__(self, wrapper: Iterable[str], bridge: str) -> None:
        self._head = [*wrapper, 'ovs-ofctl', '-O', 'OpenFlow13',
                      f'--timeout={_INNER_LIMIT}']
        self._bridge = bridge

    def dump(self, *match: str) -> list[tuple[int, _Spec]]:
        """Flows with some fields, as :func:`ofctl_text.parse` reads them."""
        result = command.run(
            [*self._head, '--no-names', 'dump-flows', self._bridge, *match],
            _LIMIT)
        if result.status != 0:
            raise OSError(errno.EIO, f'ovs-ofctl dump-flows {self._bridge}: '
                                     f'{result.messages}')
        try:
            return text.parse(result.stdout)
        except text.Unreadable as error:
            raise OSError(errno.EPROTO, str(error)) from error

    def submit(self, lines: Iterable[str]) -> str | None:
        """Make changes, all or none of them; returns why they failed."""
        result = command.run(
            [*self._head, '--bundle', 'add-flows', self._bridge, '-'],
            _LIMIT, '\n'.join(lines) + '\n')
        return result.messages if result.status != 0 else None


def dump(ofctl: Command) -> list[_Spec]:
    """All flows with a cookie of the agent, see :func:`bridge.dump`."""
    return [spec for cookie in ownership.FLOW_COOKIES
            for _cookie, spec in ofctl.dump(f'cookie={cookie:#x}/-1')]


def change(ofctl: Command, steps: Sequence[specs.Step]) -> _Failures:
    """Add and delete flows, see :func:`bridge.change`."""
    failed = _foreign(ofctl, steps)
    lines = []
    for step in steps:
        if step.ref in failed:
            continue
        try:
            lines.append((step.ref, text.line(step)))
        except ValueError as error:
            failed[step.ref] = str(error)
    if lines:
        failed.update(_submit(ofctl, lines))
        _check_arrival(ofctl, steps, failed)
    return failed


def _submit(ofctl: Command, lines: Sequence[tuple[Hashable, str]]
            ) -> _Failures:
    """In halves until the bad lines are found."""
    error = ofctl.submit([line for _ref, line in lines])
    if error is None:
        return {}
    if len(lines) == 1:
        return {lines[0][0]: error}
    # raises if ovs-ofctl does not work at all
    ofctl.dump('cookie=0/-1,table=0')
    middle = len(lines) // 2
    return {**_submit(ofctl, lines[:middle]),
            **_submit(ofctl, lines[middle:])}


def _foreign(ofctl: Command, steps: Iterable[specs.Step]) -> _Failures:
    adds = {step.ref: (step.spec.priority, text.match(step.spec))
            for step in steps if step.verb == specs.ADD and
            isinstance(step.spec, specs.FlowSpec)}
    if not adds:
        return {}
    foreign = {}
    for cookie, spec in ofctl.dump('table=0'):
        if (cookie not in ownership.REPLACEABLE_COOKIES and
                isinstance(spec, specs.StraySpec)):
            foreign[spec.priority, _normal(spec.match)] = cookie
    return {ref: specs.foreign_text(identity[0], foreign[priority_and_match])
            for ref, identity in adds.items()
            if (priority_and_match := (
                identity[0], _normal('text:' + identity[1]))) in foreign}


def _normal(match: str) -> frozenset[str]:
    """The words of a match, without order, /32 and /128."""
    fields = match.partition(':')[2].split(',')
    return frozenset(word.removesuffix('/32').removesuffix('/128')
                     for word in fields)


def _check_arrival(ofctl: Command, steps: Sequence[specs.Step],
                   failed: Container[Hashable]) -> None:
    """Look for a flow: without standard input from a wrapper, ovs-ofctl reads
    an empty file and reports success.
    """
    probe = next((step for step in reversed(steps)
                  if step.ref not in failed), None)
    if probe is None:
        return
    spec = probe.spec
    if isinstance(spec, specs.StraySpec):
        table, fields = spec.table, text.stray_match(spec.match)
        size = len(spec)
    else:
        table, fields, size = 0, text.match(spec), _IDENTITY
    there = any(other[:size] == spec[:size] for _cookie, other in ofctl.dump(
        f'table={table},cookie={spec.cookie:#x}/-1,{fields}'))
    if there != (probe.verb == specs.ADD):
        raise OSError(
            errno.EIO, 'a change of flows had no effect: does [ovs] '
                       'ovs_wrapper pass standard input on? With docker '
                       'exec or podman exec use -i')
