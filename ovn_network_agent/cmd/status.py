# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Console script ovn-network-agent-status: readiness for an upgrade."""

from collections.abc import Callable
from collections.abc import Collection
import logging
import sys

from ovn_network_agent.runtime.process import interpreter

# This comes before the import of any library that would import eventlet.
interpreter.keep_eventlet_out()

from oslo_config import cfg  # noqa: E402
from oslo_upgradecheck import upgradecheck  # noqa: E402

from ovn_network_agent import diagnosis  # noqa: E402
from ovn_network_agent.conf import opts  # noqa: E402
from ovn_network_agent.conf import validate  # noqa: E402
from ovn_network_agent.diagnosis.node import examination  # noqa: E402
from ovn_network_agent.diagnosis.node import sources  # noqa: E402

PROGRAM = 'ovn-network-agent-status'
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
    diagnosis.Verdict.OK: upgradecheck.Code.SUCCESS,
    # An unchecked layer may be in any state.
    diagnosis.Verdict.NOT_CHECKED: upgradecheck.Code.WARNING,
    diagnosis.Verdict.WARN: upgradecheck.Code.WARNING,
    diagnosis.Verdict.BROKEN: upgradecheck.Code.FAILURE}


def main(argv: list[str] | None = None) -> int:
    """Run one command.

    :returns: exit status: 0 for success, 1 after a warning, 2 after a failure
        or for a wrong command line, 255 for a check that could not be made
    """
    rest, files = opts.split(sys.argv[1:] if argv is None else argv)
    # The results have what the libraries would log.
    logging.getLogger().addHandler(logging.NullHandler())
    here = Node(cfg.CONF, files)
    try:
        # The files are for the checks, which report each of their mistakes.
        return int(upgradecheck.main(
            cfg.ConfigOpts(), PROGRAM, Commands(here.examine), rest,
            default_config_files=[]))
    finally:
        here.close()


def result(findings: Collection[diagnosis.Finding]) -> upgradecheck.Result:
    """The result of one check."""
    bad = [one for one in findings if one.verdict is not diagnosis.Verdict.OK]
    details = '. '.join(dict.fromkeys(
        f'{one.evidence}; {one.remedy}' if one.remedy else one.evidence
        for one in bad))
    return upgradecheck.Result(
        max(_CODES[one.verdict] for one in findings), details or None)


class Commands(upgradecheck.UpgradeCommands):
    """The commands of the program."""

    def __init__(self,
                 examine: Callable[[tuple[str, ...]], list[diagnosis.Finding]]
                 ) -> None:
        super().__init__()
        self._upgrade_checks = tuple(
            (title, (_make, {'examine': examine, 'names': names}))
            for title, names in GROUPS)


def _make(_commands: object,
          examine: Callable[[tuple[str, ...]], list[diagnosis.Finding]],
          names: tuple[str, ...]) -> upgradecheck.Result:
    return result(examine(names))


class Node:
    """This node, on which each check is made once; conf is not yet read."""

    def __init__(self, conf: cfg.ConfigOpts, argv: list[str]) -> None:
        self._sources = sources.Sources(conf, argv)
        self._examination = examination.Examination(
            examination.CHECKS, self._sources)
        self._unreadable = ''
        self._started = False

    def examine(self, names: Collection[str]) -> list[diagnosis.Finding]:
        """Make some checks; the first call starts the privileged daemons."""
        if not self._started:
            self._start()
        if self._unreadable:
            return [diagnosis.Finding(
                name, '', diagnosis.Verdict.BROKEN, self._unreadable,
                'repair the configuration first') for name in names]
        return self._examination.run(examination.select(
            examination.CHECKS, names))

    def _start(self) -> None:
        self._started = True
        try:
            self._sources.start()
        except validate.ConfigError as error:
            self._unreadable = f'{error}'

    def close(self) -> None:
        """Close the connections to the databases."""
        self._sources.close()


if __name__ == '__main__':
    sys.exit(main())
