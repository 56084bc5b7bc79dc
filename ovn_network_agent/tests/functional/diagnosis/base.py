# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""A doctor for tests: its readers on real systems, in this process."""

import re

from ovn_network_agent import diagnosis
from ovn_network_agent import privileged
from ovn_network_agent.diagnosis.node import examination
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.tests import configs
from ovn_network_agent.tests.functional.ovn import cloud

OK = diagnosis.Verdict.OK
WARN = diagnosis.Verdict.WARN
BROKEN = diagnosis.Verdict.BROKEN
NOT_CHECKED = diagnosis.Verdict.NOT_CHECKED


def findings(conf, *names):
    """The findings of some checks, a list; see :func:`look`."""
    found = sources.Sources(conf, [])
    try:
        return examination.Examination(examination.CHECKS, found).run(
            examination.select(examination.CHECKS, names))
    finally:
        found.close()


def command(conf, name, begin):
    """The only quoted command in the remedies of a check.

    :param begin: the beginning of the command
    :returns: the command
    """
    found, = re.findall(f'"({begin}[^"]*)"', ' '.join(
        one.remedy for one in findings(conf, name)))
    return found


def look(conf, *names):
    """Make some checks on what is there now.

    The privileged side is in this process, as the test has set it up.

    :param conf: the oslo.config ConfigOpts
    :param names: names of checks
    :returns: dict of name to (worst verdict, all evidence in one text)
    """
    made = findings(conf, *names)
    ranks = [NOT_CHECKED, OK, WARN, BROKEN]
    return {name: (
        max((one.verdict for one in made if one.check == name),
            key=ranks.index),
        ' '.join(one.evidence for one in made if one.check == name))
        for name in names}


class Looks:
    """Mix-in for a test case with ``conf`` and ``assertEqual``."""

    def in_this_process(self):
        """Have the privileged side in this process."""
        for context in privileged.CONTEXTS:
            context.set_client_mode(False)
            self.addCleanup(context.set_client_mode, True)

    def of_databases(self, **options):
        """Options that name the servers of an ``OvsdbTestCase``."""
        remotes = self.remotes()
        return configs.conf(
            bridge_dev=cloud.BRIDGE, ovn__ovn_nb_remote=[remotes['nb']],
            ovn__ovn_sb_remote=[remotes['sb']],
            ovs__ovsdb_connection=remotes['ovs'], **options)

    def of_frr_alone(self, bridge):
        """Likewise of an ``FrrTestCase``, where no database answers."""
        return configs.conf(
            bridge_dev=bridge, frr__vrf_name='',
            ovn__ovn_nb_remote=['unix:/nowhere'],
            ovn__ovn_sb_remote=['unix:/nowhere'])

    def looked(self, name, verdict):
        """Make a check and expect a verdict; returns the evidence."""
        seen, evidence = look(self.conf, name)[name]
        self.assertEqual((verdict, evidence), (seen, evidence))
        return evidence
