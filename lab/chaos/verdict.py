# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Compares what is there with what the oracle demands."""

import json

from lab import node as nodes
from lab import sink as sinks
from lab.chaos import observed
from lab.chaos import oracle
from lab.chaos import picture
from lab.chaos import values

# How objects of the operator begin in observed.Seen.rest.
_WORDS = {'route': 'blackhole route', 'address': 'address', 'rule': 'rule',
          'nft': 'nft', 'static': 'frr ip route',
          'prefix-list': 'frr ip prefix-list', 'flow': 'flow'}


class Verdict:
    """Looks at everything."""

    def __init__(self, cloud, world, profile: values.Profile):
        self._cloud = cloud
        self._world = world
        self._profile = profile
        self._rest = {}
        self._foreign = frozenset()
        self._leaked = {}

    def remember(self) -> list[tuple[str, str, str]]:
        """Remember the objects of others, as they are at the start."""
        state = self._world.state()
        self._foreign = frozenset(state.foreign)
        for name in state.gateways:
            self._rest[name] = self._look(name).rest
        self._leaked = self.leaks()
        return self.foreign()

    def quick(self):
        """Differences that show without a process, as :meth:`all` does."""
        state, now = self._world.state(), picture.read(self._cloud)
        found = [(values.ORACLE, 'central', text) for text in
                 self._northbound(now, state)]
        try:
            facts = observed.spine_facts(self._cloud.bgp_table(),
                                         self._cloud.gateways)
        except nodes.NodeError as e:
            return [*found, (values.ORACLE, 'spine', str(e))]
        wanted = oracle.spine(now, state.gateways)
        found += [(values.ORACLE, 'spine', text)
                  for text in wanted.differences(facts)]
        found += [(values.RANK, name, text) for name, text in
                  oracle.rank(now, state.gateways).items()]
        return self._counting(found)

    def all(self):
        """Every difference, a list of (kind, subject, text)."""
        found = self.quick()
        state = self._world.state()
        for name, gateway in state.gateways.items():
            wanted = oracle.node(picture.read(self._cloud), self._profile,
                                 gateway)
            if not gateway.powered:
                continue
            seen = self._look(name)
            if seen.problem:
                found.append((values.ORACLE, name, seen.problem))
                continue
            if wanted is not None:
                found += [(values.ORACLE, name, text)
                          for text in wanted.differences(seen.facts)]
            found += [(values.FOREIGN, name, text) for text in
                      self._changed(name, state, seen.rest)]
        return self._counting(found)

    def leaked(self) -> list:
        """Packets that leaked since the last call."""
        before, self._leaked = self._leaked, self.leaks()
        count = self._leaked['leaked'] - before['leaked']
        return self._counting([(
            values.LEAK, 'sink', f'{count:d} packets of the provider network '
            'left by the management network')] if count else [])

    def leaks(self):
        """The counters of the sink, dict of name to packets."""
        out = self._cloud['sink'].out('nft', '-j', 'list', 'table', 'inet',
                                      sinks.TABLE)
        return {item['counter']['name']: item['counter']['packets']
                for item in json.loads(out)['nftables'] if 'counter' in item}

    def foreign(self) -> list:
        """Objects of the operator that are not there."""
        found, seen = [], {}
        for one in self._world.state().foreign:
            key = (one.node, one.look)
            if key not in seen:
                seen[key] = self._cloud[one.node].run(
                    list(one.look), check=False).stdout
            if one.text not in seen[key]:
                found.append((values.FOREIGN, one.node,
                              f'gone: {one.kind} {one.text}'))
        return self._counting(found)

    def _counting(self, found):
        """Those for which there is no exemption."""
        return [one for one in found
                if not self._world.exempt(one[0], one[1])]

    def _look(self, name):
        return observed.look(self._cloud[name], self._profile.ovn)

    def _northbound(self, now, state):
        macs = {observed.bridge_mac(self._cloud[name]): name
                for name in self._cloud.gateways}
        return oracle.northbound(now, state.gateways).differences(
            oracle.northbound_facts(now, macs))

    def _changed(self, name, state, rest):
        gone = tuple(_WORDS[one.kind] for one in
                     self._foreign - set(state.foreign)
                     if one.node == name and one.kind in _WORDS)
        return changed(self._rest[name], rest, gone)


def changed(before: set[str], after: set[str], gone: tuple = ()) -> list[str]:
    """How the objects of others differ from those of the start."""
    return ([f'changed: -{text}' for text in sorted(before - after)
             if not text.startswith(gone or ('\0',))] +
            [f'changed: +{text}' for text in sorted(after - before)])
