# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Faults as data: how a layer breaks, and what a diagnosis then says.

A fault without a repair is repaired by its remedy: the command that the
diagnosis shows is typed in, word by word.
"""

import contextlib
import json
import re
import shlex
import typing

from lab import agent as agents
from lab import dump
from lab import frr
from lab import node as nodes
from lab import plan
from ovn_network_agent.tests.lab import base

# Commands of remedies that change something.  Other commands only look, and
# systemctl(1) does not work on the nodes of the lab.
_CHANGES = re.compile(
    r'sysctl -w |ip link (set|add) |ip (-6 )?rule (add|del) |ip neigh del |'
    r'ovs-vsctl (set|add-br) |ovs-ofctl --strict del-flows |ovn-appctl |'
    r'ovn-nbctl clear |ovn-network-agent-ctl |no ip(v6)? prefix-list |'
    r'router bgp |route-map |sleep ')
# What stands for a value that only the operator knows.
_BLANK = re.compile(
    r'\b(ADDRESS|ASN|DEVICE|ID|LIST|NAME|NUMBER|PHYSICAL-NETWORK)\b')
# Lines of FRR that belong together are 'a "first" / "second"' in a remedy.
_QUOTED = re.compile(r'"[^"]+"(?: / "[^"]+")*')
_OF_FRR = ('no ip prefix-list', 'no ipv6 prefix-list', 'router bgp',
           'route-map')
_AT_LAST = 60
# Ports have names here, because a patch port that is made again has another
# number.
_STATE = ('ip -4 route show table all; ip -4 rule; ip -o -4 addr; '
          f'ip -br link; ovs-vsctl list-ports {plan.BRIDGE}; '
          f'ovs-ofctl --names --no-stats dump-flows {plan.BRIDGE} | '
          'grep cookie=')


class Fault(typing.NamedTuple):
    """One layer that is broken on purpose.

    :ivar check: name of the check that has to fail, alone
    :ivar evidence: regular expression that is found in its evidence
    :ivar breaks: function of the :class:`Faults`
    :ivar repairs: likewise; None for the command of the remedy
    :ivar settles: likewise: waits for what follows from the repair
    :ivar node: name of the node that is asked, '' for the usual one
    :ivar warns: whether the check only warns
    """

    check: str
    evidence: str
    breaks: typing.Callable
    repairs: typing.Callable | None = None
    settles: typing.Callable | None = None
    node: str = ''
    warns: bool = False


def commands(remedy):
    """The commands of a remedy that change something, a list.

    :param remedy: text
    :returns: list of lists of lines; only commands of FRR have several
    """
    found = [[line.strip('"') for line in text.split(' / ')]
             for text in _QUOTED.findall(remedy)]
    return [lines for lines in found if _CHANGES.match(lines[0]) and
            not any(map(_BLANK.search, lines))]


def typed(*texts):
    """A function of :class:`Faults` that types commands in."""
    return lambda case: case.typed(*texts)


def routing(*lines):
    """A function of :class:`Faults` that configures FRR."""
    return lambda case: case.vtysh(case.node, lines)


def configured(group, **options):
    """A function of :class:`Faults` that configures the agent anew.

    The running agent does not read it.
    """
    def write(case):
        case.usual = case.usual or case.node.read(agents.CONFIG)
        case.node.write(agents.CONFIG, case.usual + f'\n[{group}]\n' + ''.join(
            f'{option} = {value}\n' for option, value in options.items()))
    return write


def usual(case):
    """The configuration as it was before :func:`configured`."""
    case.node.write(agents.CONFIG, case.usual)


class Faults:
    """Mix-in for a test case with ``node`` and ``agent``.

    :ivar usual: the configuration of the agent on the node, '' unless it was
        changed
    """

    usual = ''

    def typed(self, *texts):
        """Type in commands."""
        for text in texts:
            self.type_in([text])

    def type_in(self, lines):
        """Type in a command; several lines, or a prefix list, are FRR's."""
        words = shlex.split(lines[0])
        if lines[0].startswith(_OF_FRR):
            self.vtysh(self.node, lines)
        elif words[0] == 'ovn-network-agent-ctl':
            self.agent.ctl(*words[1:])
        elif words[0] == 'ovn-nbctl':
            # On a node of a cloud, its configuration names the database.
            self.node.run([words[0], f'--db={plan.NB}', *words[1:]])
        else:
            self.node.run(words)

    @staticmethod
    def vtysh(node, lines):
        """Lines of FRR's configuration."""
        node.out('vtysh', *(
            word for line in ['configure terminal', *lines]
            for word in ('-c', line)))

    def wait_default(self, there=True):
        """Wait until the VRF has a default route from BGP, or none."""
        nodes.wait_until(
            f'a default route: {there}', lambda: there == bool(self.node.out(
                'ip', '-4', 'route', 'show', 'table', base.VRF_TABLE,
                'proto', 'bgp', 'default').strip()), _AT_LAST)

    def wait_settled(self):
        """Wait until the node has what every fault gives back."""
        self.wait_session()
        self.wait_default()

    def wait_session(self):
        """Wait for the proof that the BGP session of the node lives.

        A session that has lost its way stays Established on both sides until
        the hold timer of each side runs out.  So both sides have to receive a
        KEEPALIVE from now on.
        """
        before = [received for _state, received in self.session()]

        def lives():
            return all(state == 'Established' and received > earlier
                       for (state, received), earlier
                       in zip(self.session(), before, strict=True))
        nodes.wait_until(
            lambda: f'both sides of the session hear from each other: '
                    f'{self.session()} after {before}', lives, _AT_LAST)

    def session(self):
        """The session as its two sides see it.

        :returns: list of (state, number of KEEPALIVEs received)
        """
        peer, address = plan.UPLINKS[self.node.name]
        return [_session(self.node, f'vrf {plan.VRF} ', peer),
                _session(self.cloud['spine'], '', address)]

    def everything(self):
        """Routes, rules, addresses, devices, ports and flows of the node."""
        return {self.node.name: [
            dump.VOLATILE.sub('', line).rstrip()
            for line in self.node.out('sh', '-c', _STATE).splitlines()]}

    def changed(self, before):
        """What differs from an earlier :meth:`everything`, list of lines."""
        return dump.difference(before, self.everything())

    @contextlib.contextmanager
    def while_broken(self, fault):
        """Break a layer for the block, and repair it.

        The next fault has to meet the node as this one has met it.

        :param fault: :class:`Fault`
        :raises NodeError: with the name of the fault
        """
        before = self.everything()
        try:
            fault.breaks(self)
            try:
                yield
            finally:
                if fault.repairs:
                    fault.repairs(self)
            if fault.settles:
                fault.settles(self)
            nodes.wait_until(
                lambda: f'the node is as before: {self.changed(before)}',
                lambda: not self.changed(before), _AT_LAST)
        except nodes.NodeError as e:
            raise nodes.NodeError(f'{fault.check}: {e}') from e


def _session(node, vrf, peer):
    """(state, received KEEPALIVEs) of a neighbour."""
    said = json.loads(frr.ask(
        node, 'bgpd', f'show bgp {vrf}neighbors {peer} json'))[peer]
    return said['bgpState'], said['messageStats']['keepalivesRecv']

