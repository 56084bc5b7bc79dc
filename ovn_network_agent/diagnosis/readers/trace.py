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

"""What OVN and Open vSwitch would do with packets of one address.

Both tools only simulate a packet.  ovn-trace reads the whole Southbound
database, so nobody gets a trace who has not asked for one.
"""

import glob
import os

from ovn_network_agent.control import client
from ovn_network_agent.diagnosis import readers

# Seconds for one trace.
_TIMEOUT = 30


def read(conf, known, about):
    """The traces of an address whose gateway port is here.

    :param conf: the oslo.config ConfigOpts
    :param known: :class:`facts.Setup`
    :param about: :class:`subject.Subject`
    :returns: tuple of (title, text)
    """
    if not about.here or about.port is None or not about.port.segment:
        return ()
    return tuple((title, _attempt(function, conf, known, about))
                 for title, function in (
                     ('Open vSwitch, way in', _way_in),
                     ('OVN, way in', _logical),
                     ('Open vSwitch, way back', _way_back)))


def _attempt(function, *arguments):
    try:
        return function(*arguments)
    except (readers.Unread, OSError) as error:
        return f'not traced: {readers.reason(error)}'


def _way_in(conf, known, about):
    """A packet that the kernel gives to the bridge."""
    segment = about.port.segment
    return switch(conf, segment.bridge,
                   f'in_port=LOCAL,icmp,icmp_type=8,dl_src={segment.mac},'
                   f'dl_dst={about.port.mac},nw_src={known.client},'
                   f'nw_dst={about.address},nw_ttl=64')


def _way_back(conf, known, about):
    """A packet that OVN gives to the bridge."""
    segment = about.port.segment
    return switch(conf, segment.bridge,
                   f'in_port={segment.patch_port},icmp,icmp_type=0,'
                   f'dl_src={about.port.mac},dl_dst={segment.mac},'
                   f'nw_src={about.address},nw_dst={known.client},nw_ttl=63')


def switch(conf, bridge, flow):
    """Ask ovs-vswitchd over its own control socket.

    :param conf: the oslo.config ConfigOpts
    :param bridge: name of the bridge
    :param flow: the packet, in the notation of ovs-ofctl
    :returns: text
    :raises readers.Unread: without an answer
    """
    found = glob.glob(os.path.join(glob.escape(conf.ovs.ovs_rundir),
                                   'ovs-vswitchd.*.ctl'))
    if not found:
        raise readers.Unread('there is no control socket of ovs-vswitchd in '
                             f'{conf.ovs.ovs_rundir}')
    try:
        return client.call(found[0], 'ofproto/trace', [bridge, flow],
                           _TIMEOUT)
    except (client.NoAgent, client.Refused) as error:
        raise readers.Unread(f'ovs-vswitchd: {error}') from error


def _logical(conf, known, about):
    """A packet that arrives on the provider network, in OVN."""
    from ovn_network_agent.privileged import command
    segment = about.port.segment
    remotes = ','.join(conf.ovn.ovn_sb_remote)
    flow = (f'inport == "{segment.localnet_port}" && '
            f'eth.src == {segment.mac} && eth.dst == {about.port.mac} && '
            f'ip4.src == {known.client} && ip4.dst == {about.address} && '
            'ip.ttl == 64 && icmp4.type == 8')
    done = command.run(['ovn-trace', f'--db={remotes}', *_files(conf),
                        '--summary', segment.datapath, flow], _TIMEOUT)
    if done.status:
        raise readers.Unread(f'ovn-trace: {done.messages}')
    return done.stdout


def _files(conf):
    """The arguments for the TLS files of OVN."""
    given = (('--private-key', conf.ovn.ovn_ssl_key),
             ('--certificate', conf.ovn.ovn_ssl_cert),
             ('--ca-cert', conf.ovn.ovn_ssl_ca))
    return [f'{option}={path}' for option, path in given if path]
