# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Explain of a VIP: each broken layer has its name, on a real node.

The VIP is in the default VRF, and there is no BGP and no OVN.  The lab breaks
the layers of these for a floating IP (tests/lab/test_explain.py).
"""

import json
import os
import re
import signal
import typing

from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.forward import base

_TABLE = f'ip {ownership.NFT_TABLE}'
_TYPED = re.compile(r'"(ip link set .*?)"')


class Fault(typing.NamedTuple):
    """A broken layer.

    :ivar check: name of the check that has to be broken, alone
    :ivar evidence: regular expression that is found in its evidence
    :ivar breaks: script for sh(1) on the node
    :ivar repairs: likewise; '' for the command of the remedy
    """

    check: str
    evidence: str
    breaks: str
    repairs: str = ''


# With the table as it was.
_RESTORE = f'nft delete table {_TABLE} || true; nft -f $SAVED'
FAULTS = (
    Fault('vip-address', 'loopback1 is down', 'ip link set loopback1 down'),
    Fault('vip-address', 'has no address ' + base.VIP,
          f'ip address del {base.VIP}/32 dev loopback1',
          f'ip address add {base.VIP}/32 dev loopback1'),
    Fault('nft-rules', 'there is no table', f'nft delete table {_TABLE}',
          _RESTORE),
    Fault('nft-rules', f'tcp/53 does not lead to {base.BACKENDS[0]}',
          f'nft flush set {_TABLE} {ownership.NFT_TARGETS}', _RESTORE),
    Fault('nft-rules', 'another program has changed the table',
          f'nft flush chain {_TABLE} prerouting_dnat', _RESTORE),
)


class ExplainTest(base.ForwardTestCase):

    def setUp(self):
        super().setUp()
        self.behind = {address: self.backend(address)
                       for address in base.BACKENDS}
        self.servers = {address: self.serve(holder, address)
                        for address, holder in self.behind.items()}
        self.write_rules(base.rules(
            of_rule='health_check: {type: tcp, interval: 0.2, rise: 1, '
                    'fall: 1}'))
        self.path = self.alone(reconcile_interval=3600)
        self.agent = self.start(self.path)
        self.eventually(self.ask)
        self.eventually(lambda: self.vips() == [base.VIP])

    def explain(self):
        """(exit status, dict of check to finding) of the VIP."""
        ended = self.run_program(
            'ctl', '--config-file', self.path, 'explain', base.VIP,
            '--client', base.CLIENT, '--json', inside=self.inside)
        self.assertEqual('', ended.stderr)
        said = json.loads(ended.stdout)
        self.assertEqual('VIP', said['kind'])
        return ended.returncode, {one['check']: one
                                  for one in said['findings']}

    def verdicts(self, verdict):
        """The findings with a verdict, a dict of check to finding."""
        return {check: one for check, one in self.explain()[1].items()
                if one['verdict'] == verdict}

    def broken(self):
        return self.verdicts('BROKEN')

    def _healthy(self):
        """All layers are OK, and connections are counted."""
        answers = {self.ask() for _time in range(3)}
        status, found = self.explain()
        self.assertEqual((0, {'OK'}), (
            status, {one['verdict'] for one in found.values()}), found)
        backend = answers.pop().split()[0]
        self.assertRegex(found['nft-rules']['evidence'],
                         rf'^2 destinations of 1 rule; [3-9] connections at '
                         rf'present: \d to {backend}')
        self.assertEqual(f'tcp/53 to {" ".join(base.BACKENDS)}',
                         found['backends']['evidence'])

    def test_each_broken_layer_has_its_name(self):
        """While no agent repairs it; then the agent repairs all at once."""
        self._healthy()
        saved = os.path.join(self.directory, 'saved')
        self.sh(f'nft list table {_TABLE} >{saved}')
        self.agent.send_signal(signal.SIGKILL)
        self.agent.wait()
        for fault in FAULTS:
            with self.subTest(fault=fault):
                self.sh(fault.breaks)
                found = self.broken()
                self.assertEqual({fault.check}, set(found), found)
                one = found[fault.check]
                self.assertRegex(one['evidence'], fault.evidence)
                self.sh(f'SAVED={saved}; ' + (
                    fault.repairs or _TYPED.search(one['remedy'])[1]))
                self.assertEqual({}, self.broken())
        for fault in FAULTS[1:3]:
            self.sh(fault.breaks)
        self.start(self.path)
        self.eventually(lambda: self.explain()[0] == 0)
        self.assertTrue(self.ask())
