# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The VIP that an address is, from the rules file and the agent."""

from collections.abc import Sequence
import dataclasses

from oslo_config import cfg

from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import needs
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.drivers import base
from ovn_network_agent.files import file_problems
from ovn_network_agent.forward import node_addresses
from ovn_network_agent.forward import rules
from ovn_network_agent.model import port_forwards


def find(conf: cfg.ConfigOpts, address: str,
         answer: agent.Answer | readers.Unread, drivers: Sequence[base.Driver]
         ) -> subjects.Subject | None:
    """The subject of a VIP, or None; ValueError for a bad rules file."""
    try:
        vip = next((each for each in rules.load(conf)
                    if each.address == address), None)
    except file_problems.BadFile as error:
        raise ValueError('; '.join(error.messages)) from error
    if vip is None:
        return None
    known = {} if isinstance(answer, readers.Unread) else answer
    vip = with_health(vip, known)
    if not vip.managed:
        vip = dataclasses.replace(
            vip, present=address in node_addresses.read(conf.frr.vrf_name))
    node = switch.node(
        conf.frr.vrf_name, conf.port_forward.port_forward_dev,
        extent=port_forwards.extent(port_forwards.Forwards((vip,))))
    return needs.of_vip(vip, node, gateway(known), drivers)


def with_health(vip: port_forwards.Vip, answer: agent.Answer
                ) -> port_forwards.Vip:
    """A VIP whose destinations are as alive as the agent says."""
    known = next((each for each in answer.get('vips', ())
                  if each['address'] == vip.address), None)
    if known is None:
        return vip
    health = {(rule['proto'], rule['port'], backend['address']):
              (backend['alive'], backend['why'])
              for rule in known['rules'] for backend in rule['backends']}
    return dataclasses.replace(vip, rules=tuple(
        dataclasses.replace(rule, destinations=tuple(
            dataclasses.replace(backend, **dict(zip(
                ('alive', 'why'), health.get(
                    (rule.proto, rule.port, backend.address), (True, '')),
                strict=True)))
            for backend in rule.destinations))
        for rule in vip.rules))


def gateway(answer: agent.Answer) -> bool | None:
    """Whether a router has its gateway here; None when unknown."""
    if 'groups' not in answer:
        return None
    return any(port['here'] for group in answer['groups']
               for port in group['ports'])
