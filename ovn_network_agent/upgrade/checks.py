# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The checks of ``ovn-network-agent-status upgrade check``.

Each of them is one or more checks of doctor, with the codes of
oslo.upgradecheck.
"""

from oslo_upgradecheck import upgradecheck

from ovn_network_agent.diagnosis import finding

# Title of a check, and the checks of doctor that it consists of.
GROUPS = (
    # The check of the configuration looks at the files of TLS, too.
    ('Configuration', ('configuration',)),
    ('Needs of the node', ('prerequisites', 'privileges')),
    # Of the new version, whose program this is.
    ('Files of the agent', ('file-access',)),
    ('Databases of OVN and Open vSwitch',
     ('nb-database', 'sb-database', 'ovs-database')),
    ('Versions of programs', ('versions',)),
    ('One agent on the node', ('single-agent',)),
    ('Original program', ('original-program',)),
)
_CODES = {
    finding.Verdict.OK: upgradecheck.Code.SUCCESS,
    # An unchecked layer may be in any state.
    finding.Verdict.NOT_CHECKED: upgradecheck.Code.WARNING,
    finding.Verdict.WARN: upgradecheck.Code.WARNING,
    finding.Verdict.BROKEN: upgradecheck.Code.FAILURE}


def result(findings):
    """The result of one check.

    :param findings: list of :class:`finding.Finding`, not empty
    :returns: oslo_upgradecheck.upgradecheck.Result, with all evidence and
        remedies that are no success
    """
    bad = [one for one in findings if one.verdict is not finding.Verdict.OK]
    details = '. '.join(dict.fromkeys(
        f'{one.evidence}; {one.remedy}' if one.remedy else one.evidence
        for one in bad))
    return upgradecheck.Result(
        max(_CODES[one.verdict] for one in findings), details or None)


class Commands(upgradecheck.UpgradeCommands):
    """The commands of the program.

    :param examine: function(names of checks) that returns a list of
        :class:`finding.Finding`
    """

    def __init__(self, examine):
        super().__init__()
        self._upgrade_checks = tuple(
            (title, (_make, {'examine': examine, 'names': names}))
            for title, names in GROUPS)


def _make(_commands, examine, names):
    return result(examine(names))
