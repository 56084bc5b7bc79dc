# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A reload asks the drivers again exactly where it has changed something."""

import dataclasses
import json
import logging
import re
import threading

import fixtures
from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.common import trigger
from ovn_network_agent.conf import opts
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.engine import reconciler
from ovn_network_agent.model import port_forwards
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.runtime import loader
from ovn_network_agent.runtime import loop
from ovn_network_agent.runtime import reloads
from ovn_network_agent.runtime.process import status
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import golden
from ovn_network_agent.tests.unit import seen
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.conf import base

NAMES = ['fip_route', 'veth_leak', 'gateway_drain', 'port_forward']
# Which drivers an option concerns that a reload may change.
CONCERNED = {
    'announce_method': {*NAMES},
    'rules_file': {'port_forward'}, 'balance': {'port_forward'},
    'vip_announce': {'port_forward'}, 'restore': {'gateway_drain'},
    'drain_on_shutdown': {'gateway_drain'},
    'relay_candidates': {'gateway_drain'},
    'standby_prepare': {'fip_route', 'veth_leak', 'port_forward'},
    # Every driver knows the names of the node.
    'frr_prefix_list': {*NAMES}}
# Of the node, the port forwards, a group, a router and its two addresses.
EACH = {'fip_route': 5, 'veth_leak': 3, 'gateway_drain': 2, 'port_forward': 6}


class Rules:
    """In the place of the rules file: one VIP."""

    active = True
    reasons = ()

    def reread(self):
        pass

    def with_rules(self, snapshot):
        return dataclasses.replace(snapshot, forwards=port_forwards.Forwards(
            (golden.vip(),), True))

    def after_pass(self, outcome, tracker):
        pass


class Choosy(drivers.Driver):
    """Refuses one value when it is made, as a package may."""

    def __init__(self, name, conf):
        super().__init__(name, conf)
        if conf.fip_route.announce_method == 'kernel':
            raise ValueError('[fip_route] announce_method is not for me')

    OTHER_OPTIONS = ('fip_route.announce_method',)


def another(option):
    """Another value of an option than its default."""
    if isinstance(option, cfg.BoolOpt):
        return not option.default
    if option.type.__class__.__name__ in ('Seconds', 'Integer'):
        return option.default + 1
    if option.dest == 'frr_prefix_list':
        return 'OTHER'
    if getattr(option.type, 'choices', None):
        return next(choice for choice in option.type.choices
                    if choice != option.default)
    return None


class ReloadTestCase(base.ConfTestCase):

    def setUp(self):
        super().setUp()
        self.rules = [self.file('port_forwards: []\n', name)
                      for name in ('rules.yaml', 'other.yaml')]
        self.conf = self.load(self.text())
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.DEBUG))
        self.clock = 1000.0
        router = cloud.router(fips=['198.51.100.10'])
        self.seen = seen.Seen(self.conf, router, groups=(cloud.group(router),))
        self.work = reconciler.Reconciler(
            self.drivers(), world.backends(world.World()), lambda reason: None)
        self.addCleanup(self.work.close)
        self.loop = loop.Loop(
            self.conf, self.seen, self.work, trigger.Trigger(0),
            status.Status({}), threading.Event(), forwards=Rules(),
            clock=lambda: self.clock)
        self.made()

    def drivers(self):
        return loader.load_drivers(self.conf)

    def text(self, **changed):
        """A configuration with these values, group__option=value."""
        changed = {'DEFAULT__control_socket': '', 'DEFAULT__debug': 'true',
                   'port_forward__rules_file': self.rules[0], **changed}
        return ''.join(f'[{group}]\n{option} = {value}\n'
                       for name, value in changed.items()
                       for group, option in [name.split('__')])

    def made(self):
        """A pass; names of the drivers it asked, one for each question."""
        before = len(self.log.output)
        self.loop._guarded_pass(trigger.Wake(('test',)))
        line, = re.findall(r'Asked drivers (\d+) times: (.*)',
                           self.log.output[before:])
        names = [name.partition(' ')[0] for name in line[1].split(', ')
                 if name]
        self.count = int(line[0])
        # The log has no more names than that.
        self.assertEqual(min(self.count, 10), len(names))
        return names

    def reload(self, **changed):
        """A reload with these values, and the pass after it."""
        with open(self.conf.config_file[0], 'w') as opened:
            opened.write(self.text(**changed))
        self.loop.reload()
        self.loop._apply_configuration()
        return self.made()


class RecomputedTest(ReloadTestCase):

    def test_nothing_has_changed(self):
        before = self.work.wanted.drivers
        self.assertEqual([], self.reload())
        # The systems are compared all the same.
        self.assertEqual([True, True], self.seen.full)
        for old, new in zip(before, self.work.wanted.drivers, strict=True):
            self.assertIs(old, new)

    def test_each_option_concerns_the_drivers_that_read_it(self):
        mutable = [(group, option) for group, option in opts.everything()
                   if option.mutable]
        self.assertLessEqual({*CONCERNED},
                             {option.dest for _group, option in mutable})
        # The privileged side reads the same files.
        limits.fix(self.conf)
        self.addCleanup(limits.forget)
        privileged.frr.set_client_mode(False)
        self.addCleanup(privileged.frr.set_client_mode, True)
        for group, option in mutable:
            value = another(option)
            asked = self.reload(
                **{f'{group}__{option.dest}':
                   self.rules[1] if value is None else value})
            concerned = CONCERNED.get(option.dest, set())
            for names in asked, self.reload():
                self.assertEqual(sum(EACH[name] for name in concerned),
                                 self.count, option.dest)
                if self.count > len(names):
                    self.assertLessEqual({*names}, concerned)
                else:
                    self.assertEqual(concerned, {*names}, option.dest)

    def test_a_periodic_comparison_asks_for_nothing(self):
        self.clock += self.conf.reconcile_interval
        self.assertEqual([], self.made())
        self.assertTrue(self.seen.full[-1])

class AnswerTest(ReloadTestCase):
    """What a reload answers, and to whom."""

    def answered(self, number, **kwargs):
        return self.loop.reloads.wait(number, 0.01, **kwargs)

    def ask(self, **changed):
        with open(self.conf.config_file[0], 'w') as opened:
            opened.write(self.text(**changed))
        return self.loop.reload()

    def test_a_request_is_answered_once_it_is_carried_out(self):
        number = self.ask(DEFAULT__reconcile_interval=5,
                          DEFAULT__bridge_dev='br-new')
        self.assertEqual((None, False), self.answered(number))
        self.loop._apply_configuration()
        answer, in_force = self.answered(number)
        self.assertEqual((['reconcile_interval'], ['bridge_dev'], (), False), (
            [c.option for c in answer.changed],
            [c.option for c in answer.waiting], answer.refused, in_force))
        self.assertFalse(self.answered(number, in_force=True)[1])
        self.made()
        self.assertEqual((answer, True), self.answered(number, in_force=True))
        self.assertEqual({'at', 'refused', 'changed', 'waiting'},
                         {*json.loads(json.dumps(answer.json()))})
        # What waits is named in the log.
        self.assertIn('waits for a restart: [DEFAULT] bridge_dev: br-ex -> '
                      'br-new', self.log.output)

    def test_a_later_request_gets_no_earlier_answer(self):
        first = self.ask(DEFAULT__reconcile_interval=5)
        self.loop._apply_configuration()
        second = self.ask(DEFAULT__reconcile_interval=7)
        self.assertIsNone(self.answered(second)[0])
        self.loop._apply_configuration()
        self.assertEqual('7', self.answered(second)[0].changed[0].after)
        self.assertEqual('7', self.answered(first)[0].changed[0].after)

    def test_a_refused_one_degrades_until_the_files_are_right(self):
        number = self.ask(DEFAULT__reconcile_interval='often')
        self.loop._apply_configuration()
        answer, _in_force = self.answered(number, in_force=True)
        self.assertIn('often', answer.refused[0])
        self.made()
        reason, = self.loop._status.reasons
        self.assertIn('would not start with these files', reason)
        self.assertIn('often', reason)
        self.reload()
        self.assertEqual((), self.loop._status.reasons)

    def test_a_bad_rules_file_refuses_all(self):
        with open(self.rules[1], 'w') as opened:
            opened.write('nonsense: true\n')
        number = self.ask(DEFAULT__reconcile_interval=5,
                          port_forward__rules_file=self.rules[1])
        self.loop._apply_configuration()
        answer, _in_force = self.answered(number)
        self.assertIn('nonsense', ' '.join(answer.refused))
        self.assertEqual(60, self.conf.reconcile_interval)
        self.assertEqual(self.rules[0], self.conf.port_forward.rules_file)

    def test_nobody_waits_for_an_agent_that_stops(self):
        number = self.loop.reload()
        self.loop.reloads.close()
        self.assertRaises(reloads.Closed, self.answered, number)


class RefusedTest(ReloadTestCase):

    def drivers(self):
        return [*super().drivers(), world.driver('choosy', self.conf, Choosy)]

    def test_a_driver_refuses_its_options(self):
        before = self.work.wanted.drivers
        self.assertEqual([], self.reload(
            fip_route__announce_method='kernel',
            DEFAULT__reconcile_interval=5))
        self.assertEqual(60, self.conf.reconcile_interval)
        self.assertEqual('static', self.conf.fip_route.announce_method)
        self.assertIs(before, self.work.wanted.drivers)
        self.assertIn(
            'The configuration stays as it was: driver choosy refuses its '
            'options: ValueError: [fip_route] announce_method is not for me',
            self.log.output)
