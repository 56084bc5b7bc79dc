# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
