# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Explanations of an address, of which one layer after the other is broken."""

import json
import time

from lab import node as nodes
from lab import plan
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import faults

_AT_LAST = 60
# A remedy that needs the agent is not typed in while none runs.
_OF_AGENT = 'ovn-network-agent-ctl'


class Explaining(faults.Faults):
    """Mix-in for a class of tests with a cloud, ``node`` and ``agent``."""

    def explain(self, address, name='gw1'):
        """(exit status, what is said, a dict)."""
        client = plan.CLIENT6 if ':' in address else plan.CLIENT
        done = self.cloud.agents[name].look(
            'explain', address, '--client', client, '--json')
        self.assertEqual('', done.stderr)
        return done.returncode, json.loads(done.stdout)

    def broken(self, address):
        """What is called broken, a dict of check to finding."""
        return {one['check']: one for one
                in self.explain(address)[1]['findings']
                if one['verdict'] == 'BROKEN'}

    def shown(self, address, known):
        """Break and repair layers, one at a time.

        :param address: the address to explain
        :param known: tuple of :class:`faults.Fault`
        :returns: dict of check to why that is not right
        """
        wrong = {}
        for fault in known:
            began = time.monotonic()
            with self.while_broken(fault):
                why = self.alone(address, fault)
            base.note(f'{fault.check}: {time.monotonic() - began:.1f} s '
                      f'{why}')
            if why:
                wrong[fault.check] = why
        return wrong

    def alone(self, address, fault):
        """Wait until only one layer is called broken, and type its remedy in.

        :returns: why that is not right, '' if it is
        """
        try:
            found = nodes.wait_until(
                f'{fault.check} alone is broken',
                lambda: self._alone(address, fault.check), _AT_LAST)
        except nodes.NodeError:
            if self.running('gw1'):
                self.cloud.agents['gw1'].thaw()
            return [one for one in self.explain(address)[1]['findings']
                    if one['verdict'] != 'OK']
        self.assertRegex(found['evidence'], fault.evidence)
        self.assertTrue(found['remedy'], found)
        lines = [line for line in faults.commands(found['remedy'])
                 if self.running('gw1') or _OF_AGENT not in line[0]]
        if self.running('gw1'):
            self.cloud.agents['gw1'].thaw()
        for line in lines:
            self.type_in(line)
        if lines:
            nodes.wait_until('the remedy has helped',
                             lambda: not self.broken(address), _AT_LAST)
        return ''

    def _alone(self, address, check):
        found = self.broken(address)
        return set(found) == {check} and found[check]

    def started(self):
        """Start the agent of gw1 again, if it does not run."""
        agent = self.cloud.agents['gw1']
        if not self.running('gw1'):
            agent.start()
            agent.wait_ready()
