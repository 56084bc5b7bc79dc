# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Check of the health probe between the agents with the driver egress_ip."""

import typing

from ovn_network_agent.conf import egress_ip
from ovn_network_agent.conf import tls
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import words
from ovn_network_agent.ovn import egress_health
from ovn_network_agent.ovs import wiring
from ovn_network_agent.watches import egress_question

_OWN = ('if the agent runs, "ovn-network-agent-ctl status" says why it does '
        'not listen, and "ss -ltnp" who has the port; with TLS, the '
        'certificate in [ovn] ovn_ssl_cert has to be of an authority in '
        'ovn_ssl_ca')
_OTHERS = ('see whether the agent runs there ("ovn-network-agent-ctl doctor" '
           'on that node), has the same probe_port and files of TLS, and '
           'whether a firewall drops the port')


class Probes(typing.NamedTuple):
    """What agents have answered to this node.

    :ivar own: :class:`egress_question.Answer` of the agent of this node
    :ivar others: dict of chassis that can have egress addresses to Answer
    """

    own: egress_question.Answer
    others: dict


def read_probes(sources):
    """Ask the agents once, as the writer of the rows does: :class:`Probes`.

    :raises check.NotChecked: when agents do not ask each other, or not with
        these files of TLS
    """
    conf = sources.conf
    if not egress_ip.probes(conf):
        raise check.NotChecked('[DEFAULT] drivers has no egress_ip, or '
                               '[egress_ip] probe_port is 0')
    own = sources.snapshot().node.chassis
    with sources.database('ovs').rows() as ovs:
        addresses = wiring.addresses(ovs)
    with (sources.database('nb').rows() as nb,
          sources.database('sb').rows() as sb):
        targets = egress_health.targets(nb, sb)
    files = tls.between_agents(conf)
    try:
        context = files and files.context()
    except tls.BadFile as error:
        raise check.NotChecked(str(error)) from None
    found = egress_question.ask({**targets, own: addresses},
                                conf.egress_ip.probe_port, context)
    return Probes(found.pop(own), found)


def judge_probes(found):
    """An agent of this node that does not answer is broken, another a warning.

    :param found: :class:`Probes`
    """
    dead = [f'{chassis} ({each.why})'
            for chassis, each in sorted(found.others.items()) if each.why]
    if found.own.why:
        yield check.broken('the agent of this node does not answer other '
                           f'agents: {found.own.why}', _OWN)
    if dead:
        yield check.warn('agents that do not answer, so that their nodes get '
                         f'no new egress address: {words.named(dead)}',
                         _OTHERS)
    if not (found.own.why or dead):
        yield check.ok('the agents of this node, and of '
                       f'{len(found.others):d} others, answer')


CHECKS = (
    check.Check(
        'egress-probe', 'OVN', 'with the driver egress_ip and a probe_port: '
        'the agent of this node answers on its tunnel addresses, and so do '
        'the agents of all chassis that can have egress addresses',
        read_probes, judge_probes, ('chassis',)),
)
