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

"""Notifications of nftables: linux/netfilter/nf_tables.h."""

from pyroute2.netlink import nfnetlink

from ovn_network_agent.netlink import messages

# In messages of all kinds of objects, attribute 1 is the name of the table:
# NFTA_TABLE_NAME, NFTA_CHAIN_TABLE, NFTA_RULE_TABLE, NFTA_SET_TABLE, ...
_MESSAGE = messages.narrow(nfnetlink.nfgen_msg, (1, 'table', 'asciiz'))


def table(kind, data, start, end):
    """The name of the table that a notification is about.

    :param kind: type of the message
    :param data: bytes
    :param start: offset of the body
    :param end: offset after the body
    :returns: str, None when the message is about no table
    """
    if kind >> 8 != nfnetlink.NFNL_SUBSYS_NFTABLES:
        return None
    return messages.attributes(
        messages.decode(_MESSAGE, data, start, end)).get('table')
