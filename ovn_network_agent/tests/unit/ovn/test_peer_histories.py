# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Random histories of intents, against a model that looks at everything."""

import ipaddress
import itertools
import json

from hypothesis import settings as hypothesis
from hypothesis import stateful
from hypothesis import strategies
from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.tests import budget
from ovn_network_agent.tests.unit.ovn import peers

ROUTERS = (1, 2, 3, 4)
PAIRS = [*itertools.combinations(ROUTERS, 2)]
NAMES = ('a', 'b', 'c', '1bad')
# Some are in each other.
NETS = ('10.0.1.1/24', '10.0.1.1/25', '10.0.2.1/24', '10.0.2.129/25',
        '10.0.3.1/24', '10.0.4.1/24', '10.0.9.1/24', '10.1.0.1/24',
        '10.0.0.1/22', '2001:db8:1::1/64', '2001:db8:1::1/48')
TARGETS = (*(str(peers.key(number)) for number in ROUTERS), 'r1', 'r2',
           'nobody')
COLUMNS = ('external_ids', 'options')
FILTERS = (None, '10.0.0.0/16', '10.0.1.0/24', '10.0.9.0/24, 2001:db8::/32',
           'bad')
sampled = strategies.sampled_from


def named(number):
    """The text for a router in the file."""
    return f'r{number}' if number % 2 else str(peers.key(number))


def nets(texts):
    return {ipaddress.ip_interface(text).network for text in texts}


def overlap(some, others):
    return any(one.version == two.version and one.overlaps(two)
               for one in some for two in others)


class Plain:
    """The states by the words of the specification alone."""

    def __init__(self, history):
        self.ports, self.uplinks = history.ports, history.uplinks
        self.marked, self.held = history.marked, history.held
        self.words = {
            router: {**said['external_ids'], **said['options']}
            for router, said in history.said.items()}
        # What the file says comes in the place of what a router says.
        self.extra = {}
        self.filed = set()
        for entry in history.entries:
            for end, other in (entry, entry[::-1]):
                number, name, text = end
                if number not in self.words:
                    self.extra[named(number), name] = 'error'
                    continue
                if self.drop(number, name):
                    self.extra[number, name, 'again'] = 'error'
                self.filed.add((number, name))
                self.words[number].update({
                    peers.TARGET + name: named(other[0]),
                    **({peers.EXPORT + name: text} if text else {})})

    def drop(self, number, name):
        """Whether a router says something of a name, which is taken out."""
        return [self.words[number].pop(key + name) for key in (
            peers.TARGET, peers.EXPORT, peers.IMPORT)
            if key + name in self.words[number]]

    def target(self, router, name):
        """The router of an intent that counts, None for another one."""
        words = self.words[router]
        text = words.get(peers.TARGET + name)
        if text is None or name == '1bad' or not self.fit(router) or any(
                words.get(key + name) == 'bad'
                for key in (peers.EXPORT, peers.IMPORT)):
            return None
        found = [number for number in self.words
                 if text in (str(peers.key(number)), f'r{number}')]
        return found[0] if found and found[0] != router else None

    def fit(self, router):
        return self.ports[router] and not self.words[router].get('chassis')

    def first(self, router, other):
        return next((name for name in sorted(NAMES, key=lambda name: (
            (router, name) not in self.filed, name))
            if self.target(router, name) == other), None)

    def pairs(self):
        return [(one, other) for one, other in itertools.combinations(
            sorted(self.words), 2)
            if self.first(one, other) and self.first(other, one)]

    def families(self, router):
        return {net.version for net in nets(self.ports[router])}

    def takes(self, router, other):
        def passes(net, text):
            return text is None or any(
                net.version == each.version and net.subnet_of(each)
                for each in map(ipaddress.ip_network, text.split(', ')))
        exports = self.words[other].get(
            peers.EXPORT + self.first(other, router))
        imports = self.words[router].get(
            peers.IMPORT + self.first(router, other))
        return {net for net in nets(self.ports[other])
                if net.version in self.families(router) and
                passes(net, exports) and passes(net, imports)}

    def lowest(self, router, other):
        """The next hops of another router."""
        return {min(ipaddress.ip_interface(text).ip
                     for text in self.ports[other]
                     if ipaddress.ip_interface(text).version == version)
                for version in self.families(router) & self.families(other)}

    def overlaps(self, router, other):
        own = nets((*self.ports[router], *self.uplinks[router]))
        given = self.takes(router, other) | {
            ipaddress.ip_network(hop) for hop in self.lowest(router, other)}
        return overlap(own, given)

    def created(self):
        """The pairs whose rows are wanted."""
        sound = [(one, other) for one, other in self.pairs()
                 if self.families(one) & self.families(other) and
                 not self.overlaps(one, other) and
                 not self.overlaps(other, one)]
        found = set(sound)
        for router in self.words:
            wanted = {(*pair,): self.takes(router, *set(pair) - {router})
                      for pair in sound if router in pair}
            taken = set()
            for pair in sorted(wanted, key=lambda pair, router=router,
                               wanted=wanted: (
                                   pair not in self.marked,
                                   self.late(router, pair, wanted), pair)):
                if overlap(taken, wanted[pair]):
                    found.discard(pair)
                else:
                    taken |= wanted[pair]
        return found

    def late(self, router, pair, wanted):
        """Whether a pair wants something new of what another one has."""
        def has(each):
            return wanted[each] & self.held.get((router, each), set())
        return any(overlap(wanted[pair] - has(pair), has(other))
                   for other in wanted if other != pair)

    def states(self):
        created = self.created()
        mutual = set(self.pairs())
        return self.extra | {
                (router, name): self.state(router, name, created, mutual)
                for router in self.words for name in NAMES
                if any(key + name in self.words[router] for key in (
                    peers.TARGET, peers.EXPORT, peers.IMPORT))}

    def state(self, router, name, created, mutual):
        other = self.target(router, name)
        if other is None:
            text = self.words[router].get(peers.TARGET + name)
            bad = text is None or name == '1bad' or any(
                self.words[router].get(key + name) == 'bad'
                for key in (peers.EXPORT, peers.IMPORT))
            itself = text in (str(peers.key(router)), f'r{router}')
            return ('error' if bad or itself or not self.fit(router)
                    else 'pending')
        pair = tuple(sorted((router, other)))
        if pair not in mutual:
            return 'pending'
        if self.first(router, other) != name or not (
                self.families(router) & self.families(other)):
            return 'error'
        return 'created' if pair in created else 'conflict'


class History(stateful.RuleBasedStateMachine):

    def __init__(self):
        super().__init__()
        self.cloud = peers.Cloud()
        self.ports, self.uplinks, self.said = {}, {}, {}
        self.marked = set()
        # By (router, pair) the prefixes of routes; by router its routes.
        self.held, self.routes = {}, {}
        self.before = {}
        # Pairs of (router, name, exports).
        self.entries = []

    @stateful.initialize(
        ports=strategies.lists(sampled(NETS), min_size=4, max_size=4),
        agreed=strategies.sets(sampled(PAIRS), min_size=2))
    def begin(self, ports, agreed):
        for number, port in zip(ROUTERS, ports, strict=True):
            self.router(number, {port}, '')
        for one, other in sorted(agreed):
            for router, of in ((one, other), (other, one)):
                name = next(name for name in NAMES[:3] if peers.TARGET + name
                             not in self.said[router]['external_ids'])
                self.say(router, peers.TARGET + name, str(peers.key(of)))

    @stateful.rule(number=sampled(ROUTERS),
                   ports=strategies.sets(sampled(NETS), max_size=2),
                   uplink=sampled(('', '', '', *NETS[:3])))
    def router(self, number, ports, uplink):
        self.ports[number] = sorted(ports)
        self.uplinks[number] = [uplink] if uplink else []
        self.said.setdefault(number, {name: {} for name in COLUMNS})
        self.put(number)

    def put(self, number):
        self.cloud.router(number, *self.ports[number],
                          uplink=tuple(self.uplinks[number]),
                          routes=sum(self.routes.get(number, {}).values(), []))

    @stateful.rule(number=sampled(ROUTERS), name=sampled(NAMES),
                   text=sampled((None, *TARGETS)), column=sampled(COLUMNS))
    def intent(self, number, name, text, column):
        self.say(number, peers.TARGET + name, text, column)

    @stateful.rule(number=sampled(ROUTERS), text=sampled((None, 'gw1')))
    def bind(self, number, text):
        self.say(number, 'chassis', text, 'options')

    @stateful.rule(one=sampled(ROUTERS), other=sampled(ROUTERS),
                   names=strategies.tuples(*[sampled(NAMES[:3])] * 2))
    def agree(self, one, other, names):
        for router in (one, other):
            if router not in self.said:
                self.router(router, {NETS[2 * (router % 3)]}, '')
        self.say(one, peers.TARGET + names[0], str(peers.key(other)))
        self.say(other, peers.TARGET + names[1], str(peers.key(one)))

    @stateful.rule(number=sampled(ROUTERS),
                   key=sampled((peers.EXPORT, peers.IMPORT)),
                   name=sampled(NAMES), text=sampled(FILTERS),
                   column=sampled(COLUMNS))
    def filter(self, number, key, name, text, column):
        self.say(number, key + name, text, column)

    @stateful.rule(number=sampled(ROUTERS))
    def neutron_updates(self, number):
        """What is in external_ids is gone."""
        for key in list(self.said.get(number, {}).get('external_ids', ())):
            self.say(number, key, None)

    def say(self, number, key, text, column='external_ids'):
        if number in self.said:
            said = self.said[number][column]
            said[key] = text
            if text is None:
                del said[key]
            words = [{key: text} if name == column else {} for name in COLUMNS]
            self.cloud.say(number, *words)

    @stateful.rule(ends=strategies.tuples(*[strategies.tuples(
        sampled(ROUTERS), sampled(NAMES[:3]), sampled(FILTERS[:-1]))] * 2))
    def file(self, ends):
        """An entry of the file comes, or those of the same names go."""
        kept = [entry for entry in self.entries if not {
            end[:2] for end in entry} & {end[:2] for end in ends}]
        if len(kept) == len(self.entries) and ends[0][0] != ends[1][0]:
            kept.append(ends)
        self.entries = kept
        # An intent that another one replaces is another subject.
        self.before = {}
        self.cloud.file(json.dumps({'network_peers': [
            {'routers': [{'router': named(number), 'name': name,
                          **({'export': text.split(', ')} if text else {})}
                         for number, name, text in entry]}
            for entry in kept]}))

    @stateful.rule(number=sampled(ROUTERS))
    def gone(self, number):
        self.said.pop(number, None)
        self.cloud.words.pop(number, None)
        self.cloud.options.pop(number, None)
        self.routes.pop(number, None)
        self.held = {key: nets for key, nets in self.held.items()
                     if key[0] != number}
        self.cloud.put('Logical_Router', number)

    @stateful.rule(one=sampled(ROUTERS), other=sampled(ROUTERS))
    def rows(self, one, other):
        """Rows of a pair come or go, whatever is wanted."""
        pair = tuple(sorted((one, other)))
        if one != other:
            self.write(pair, None if pair in self.marked else {
                router: set() for router in pair})

    @stateful.rule()
    def written(self):
        """What is wanted is there."""
        plain = Plain(self)
        created = plain.created()
        for pair in PAIRS:
            self.write(pair, {
                router: plain.takes(router, *set(pair) - {router})
                for router in pair} if pair in created else None)

    def write(self, pair, held):
        """The rows of a pair with some prefixes by router, or none."""
        (self.marked.discard if held is None else self.marked.add)(pair)
        for router, other in (pair, pair[::-1]):
            nets = (held or {}).get(router, set())
            port, routes = self.cloud.rows(
                router, other, *sorted(map(str, nets)),
                marked=(router + len(nets)) % 2)
            if held is None:
                self.cloud.put('Logical_Router_Port', port)
            if router in self.said:
                self.held[router, pair] = nets
                self.routes.setdefault(router, {})[other] = routes
                self.put(router)

    written_again = written

    @stateful.rule()
    def look(self):
        found = self.cloud.look()
        assert {where: each.state.value for where, each in found.items()
                } == Plain(self).states()
        fresh = peers.Cloud()
        fresh.tables = self.cloud.tables
        fresh.peers.rows = self.cloud.peers.rows
        assert found == fresh.look(whole=True)
        for where, each in found.items():
            before = self.before.get(where)
            assert each is before or each != before
            self.consistent(found, each)
        self.before = found

    def consistent(self, found, each):
        """Both routers want the same rows, or none."""
        assert (each.state is model.PeerState.CREATED) == bool(each.pair)
        if each.pair:
            one, two = each.sides
            assert each.pair == f'{one.router}~{two.router}'
            same = [other for other in found.values()
                    if other.pair == each.pair]
            assert len(same) == 2
            assert same[0].sides == same[1].sides

    look_again = look_once_more = look


class HistoriesTest(base.BaseTestCase):

    def test_random_histories(self):
        stateful.run_state_machine_as_test(History, settings=hypothesis(
            max_examples=budget.examples(100), stateful_step_count=30,
            deadline=None, database=None))
