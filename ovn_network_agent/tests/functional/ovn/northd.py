# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A real ovn-northd between the databases of a test."""

import shutil
import subprocess

from ovn_network_agent.tests import needs

needs_northd = needs.needs(shutil.which('ovn-northd'), 'needs ovn-northd')


def start(case):
    """Start ovn-northd; it ends with the test.

    :param case: :class:`base.OvsdbTestCase`
    :returns: subprocess.Popen
    """
    northd = subprocess.Popen(
        ['ovn-northd', '--ovnnb-db=' + case.nb.remote,
         '--ovnsb-db=' + case.sb.remote,
         '--unixctl=' + case.nb._path('northd.ctl'), '--no-chdir'],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    case.addCleanup(northd.wait)
    case.addCleanup(northd.kill)
    return northd
