# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent import version
from ovn_network_agent.diagnosis.node import agents
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.runtime.process import single_instance
from ovn_network_agent.tests.unit.diagnosis.node import base

ONE = agent.Agent(7, '/usr/local/bin/ovn-network-agent')
TWO = agent.Agent(8, 'ovn-network-agent')


def helper(**changed):
    return agents.Helper('privsep_frr', '/bin/privsep-helper --x', False,
                         True, True)._replace(**changed)


class AgentsTest(base.JudgeTestCase):

    def test_how_many_agents(self):
        self.judged_each(agents.judge_alone, *(
            (agents.Alone(found, holder), *said)
            for found, holder, *said in (
                ((), '', base.OK), ((ONE,), 'process 7 here', base.OK),
                # In another container, which shares the network.
                ((), 'in another container', base.OK),
                # The original program takes no lock.
                ((ONE,), '', base.WARN, 'process 7'),
                ((ONE, TWO), 'process 7 here', base.BROKEN, 'process 7',
                 'process 8'))))

    def test_what_is_left_of_the_original(self):
        none = single_instance.Original((), (), ())
        self.judged_each(
            agents.judge_original, (none, base.OK),
            (none._replace(running=(7,)), base.BROKEN, 'process 7'),
            (none._replace(enabled=('x.service',)), base.WARN,
             'systemctl disable x.service'),
            (none._replace(installed=('/usr/bin/ovn-network-agent',)),
             base.WARN, 'remove the package'))

    def test_command_lines(self):
        for line in ('/usr/bin/python3 /usr/local/bin/ovn-network-agent',
                     'ovn-network-agent --config-file /x',
                     'python3 -W ignore -m ovn_network_agent.cmd.agent'):
            self.assertTrue(agent.is_agent(line.split()), line)
        for line in ('ovn-network-agent --dry-run', '',
                     'ovn-network-agent --check-config',
                     'ovn-network-agent-ctl doctor',
                     'vim a /etc/ovn-network-agent',
                     'python3 -m ovn_network_agent.cmd.ctl doctor'):
            self.assertFalse(agent.is_agent(line.split()), line)

    def test_status(self):
        self.judged_each(
            agents.judge_status, (agents.Status(False), base.NOT_CHECKED),
            (agents.Status(True, 'no agent answers'), base.BROKEN),
            (agents.Status(True, '', 'restoring', ('x',)), base.WARN),
            (agents.Status(True, '', 'running'), base.OK))
        good = agents.Status(True, '', 'running')
        self.judged_each(agents.judge_drain, (good, base.OK),
                         (good._replace(drains=('all',)), base.WARN),
                         (agents.Status(False), base.NOT_CHECKED),
                         (good._replace(failure='x'), base.NOT_CHECKED))
        self.judged_each(agents.judge_privileges, ('', base.OK),
                         ('this needs root; run it so', base.NOT_CHECKED),
                         ('no privileges: x', base.BROKEN))

    def test_each_reason_of_a_degraded_agent(self):
        said = self.judged(agents.judge_status, agents.Status(
            True, '', 'running', ('one', 'two; mend it')), base.WARN,
            base.WARN)
        self.assertEqual(
            'degraded: one "ovn-network-agent-ctl status --verbose" shows '
            'what fails degraded: two; mend it the reason has the remedy; '
            '"ovn-network-agent-ctl status --verbose" shows what fails', said)

    def test_an_upgrade_without_a_restart(self):
        """The package restarts nothing."""
        facts = agents.Status(True, '', 'running', version='0.0.0.former')
        self.judged_each(
            agents.judge_status,
            (facts, (base.WARN, base.OK),
             'the agent that runs is 0.0.0.former'),
            (facts._replace(version=version.STRING), base.OK))

    def test_what_sudo_runs(self):
        program = agents.helper.program()
        self.assertEqual([program, '--x'], agents._run_as_root(
            ['sudo', '-n', program, '--x']))
        for words, only in ((['/usr/bin/sudo', program], True),
                            (['sudo', 'neutron-rootwrap', '/etc/rootwrap.conf',
                              program], False), (['doas', program], False)):
            self.assertEqual(only, agents._only_sudo(words))

    def test_helpers(self):
        """sudoers does not concern a command of the operator."""
        self.judged_each(
            agents.judge_helpers, ((), base.NOT_CHECKED),
            ((helper(), helper()), base.OK),
            ((helper(found=False), helper()), base.BROKEN),
            ((helper(allowed=False),), base.BROKEN, '[privsep_frr]'),
            ((helper(allowed=False, own=True),), base.OK))

    def test_differences_by_what_is_wrong(self):
        found = agents.Objects
        self.judged_each(
            agents.judge_objects, (found((), ()), base.OK),
            (found((*(('create', 'flow', f'number={n}') for n in range(5)),
                    ('delete', 'rule', 'priority=1')), ()),
             (base.BROKEN, base.BROKEN),
             'missing: flow number=0; flow number=1; flow number=2 and 2 more',
             'left over: rule priority=1'),
            (found((), ('flow: no bridge',)), base.WARN))
