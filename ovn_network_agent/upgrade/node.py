# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The checks of doctor, on this node."""

from ovn_network_agent.conf import validate
from ovn_network_agent.diagnosis import finding
from ovn_network_agent.diagnosis.node import examination
from ovn_network_agent.diagnosis.node import registry
from ovn_network_agent.diagnosis.node import sources


class Node:
    """This node, on which each check is made once.

    :param conf: the global oslo.config ConfigOpts, not yet read
    :param argv: list of str, options that name configuration files
    """

    def __init__(self, conf, argv):
        self._sources = sources.Sources(conf, argv)
        self._examination = examination.Examination(
            registry.CHECKS, self._sources)
        self._unreadable = ''
        self._started = False

    def examine(self, names):
        """Make some checks; the first call starts the privileged daemons.

        :param names: names of checks
        :returns: list of :class:`finding.Finding`
        """
        if not self._started:
            self._start()
        if self._unreadable:
            return [finding.Finding(
                name, '', finding.Verdict.BROKEN, self._unreadable,
                'repair the configuration first') for name in names]
        return self._examination.run(examination.select(
            registry.CHECKS, names))

    def _start(self):
        self._started = True
        try:
            self._sources.start()
        except validate.ConfigError as error:
            self._unreadable = f'{error}'

    def close(self):
        """Close the connections to the databases."""
        self._sources.close()
