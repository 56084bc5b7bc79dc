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

"""Which parser of JSON python-ovs has: its own in C, or the one in Python.

Only a python-ovs that was built beside the headers of libopenvswitch has the
parser in C.  The package index has no such build; distributions have.
"""

from oslo_log import log as logging
from ovs import json

LOG = logging.getLogger(__name__)

# The cost of a missing parser in C; tools/bench/parser.py measures the cost.
_COST = ('1000 rows of OVN cost 0.16 s of processor time in place of 0.03 s '
         'at each start and reconnection')
_REMEDY = ('build python-ovs beside the headers of libopenvswitch, or use the '
           'package python3-openvswitch of the distribution')


def name():
    """The parser in use, "C" or "PYTHON"."""
    return json.PARSER


def say():
    """Log the lack of the parser in C, and what that costs."""
    if json.PARSER != json.PARSER_C:
        LOG.info('python-ovs has no parser of JSON in C: %s; %s if that '
                 'matters here', _COST, _REMEDY)
