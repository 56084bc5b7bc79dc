# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command cleanup: removes what an agent has left, without an agent."""

import argparse
import typing

from ovn_network_agent import ownership
from ovn_network_agent.common import wording
from ovn_network_agent.ctl import program

if typing.TYPE_CHECKING:
    from oslo_config import cfg

    from ovn_network_agent import model
    from ovn_network_agent import service


def add(commands: program.Commands) -> None:
    """Add the command to the command line."""
    cleanup = commands.add_parser(
        'cleanup', help='remove all objects of an agent that no longer runs '
        'from this node, and its rows from OVN')
    cleanup.add_argument('--dry-run', action='store_true',
                         help='only show what would be removed')
    either = cleanup.add_mutually_exclusive_group()
    either.add_argument('--last', action='store_true',
                        help='on the last gateway of the cloud: also remove '
                        'the rows of peerings and of egress addresses, and '
                        'restore lowered priorities')
    either.add_argument('--without-ovn', action='store_true',
                        help='go on where OVN cannot be reached; the rows in '
                        'OVN stay')
    cleanup.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Remove the objects; 1 when something may be left."""
    # It comes first: it keeps eventlet out of what is imported next.
    from ovn_network_agent.cmd import agent
    from ovn_network_agent.conf import validate
    from ovn_network_agent.privileged.daemon import start
    from ovn_network_agent.runtime import loader
    try:
        return _run(args)
    except (validate.ConfigError, loader.LoadError) as e:
        return program.fail(f'configuration: {e}', program.USAGE)
    except (agent.EnvironmentProblem, start.NoPrivileges) as e:
        return program.fail(e, program.FAILED)


def _run(args: argparse.Namespace) -> int:
    from oslo_config import cfg

    from ovn_network_agent import model
    from ovn_network_agent.cmd import agent
    from ovn_network_agent.conf import mode
    from ovn_network_agent.ovn import view
    conf = cfg.CONF
    made = agent.prepared(conf, program.files(args), args.dry_run, {
        'DEFAULT': {'cleanup_on_shutdown': True},
        **({'network_peer': {'cleanup_on_stop': True},
            'egress_ip': {'cleanup_on_stop': True}} if args.last else {})})
    try:
        if args.last and mode.forwards_only(conf):
            return program.fail('--last: this node has no OVN',
                                program.USAGE)
        try:
            seen = made.look(conf.ovn.ovsdb_connection_timeout,
                             model.Phase.STOPPED)
            refused = _refused(conf, seen, args.last)
        except view.NotReady as e:
            seen, refused = made.without_ovn(model.Phase.STOPPED), ''
            if not args.without_ovn:
                refused = _unreached(e, args.last)
        if refused:
            return program.fail(refused, program.FAILED)
        if args.dry_run:
            return _plan(made, seen, args.last)
        reasons = made.remove_all(args.last)
    finally:
        made.close()
    if not seen.node.chassis and not mode.forwards_only(conf):
        reasons.append(_rows())
    for reason in reasons:
        program.fail(f'left: {reason}', program.FAILED)
    if not reasons:
        print('everything of the agent on this node is removed')
    return program.FAILED if reasons else program.OK


def _plan(made: 'service.AgentService', seen: 'model.Snapshot', last: bool
          ) -> int:
    from ovn_network_agent.engine import plan_text
    steps, outcome = made.plan_of(seen)
    for line in plan_text.render(steps, outcome):
        print(line)
    for line in made.restorable() if last else ():
        print(f'~ {line}')
    return (program.FAILED if outcome.unreadable or outcome.broken
            else program.OK)


def _unreached(why: Exception, last: bool) -> str:
    """Why nothing is removed; addresses here may still be in use."""
    return f'{why}; nothing was removed' + (
        '' if last else ', because gateway ports may be on this chassis. '
        'Where the addresses of this node may go, give --without-ovn')


def _rows() -> str:
    """The rows that stay in OVN, and their removal."""
    return ('OVN was not reached, so rows of this node may be there; '
            '"ovn-nbctl find Logical_Router_Static_Route external_ids:'
            f'{ownership.EXT_ID_MANAGED}={ownership.EXT_ID_MANAGED_VALUE}" '
            'shows the routes and their nodes. Run "cleanup" here again when '
            'OVN answers; of a node that is gone for good, delete the chassis '
            '("ovn-sbctl chassis-del"): agents of other nodes remove the '
            'routes after [gateway_drain] stale_chassis_grace_period')


def _refused(conf: 'cfg.ConfigOpts', seen: 'model.Snapshot', last: bool
             ) -> str:
    """Why addresses would be lost, '' when none would."""
    if last:
        return _announced_elsewhere(conf, seen.node.chassis)
    here = [port.lrp for group in seen.groups for port in group.ports
            if port.chassis == seen.node.chassis]
    if not here or not conf.gateway_drain.drain_on_shutdown:
        return ''
    ports = wording.count(len(here), 'gateway port is', 'gateway ports are')
    return (f'{ports} on this chassis, such as {here[0]}: the addresses would '
            'be withdrawn, and no other gateway would take them over. Start '
            'the agent and stop it, which drains, or stop ovn-controller '
            'here; with no other gateway in the cloud give --last')


def _announced_elsewhere(conf: 'cfg.ConfigOpts', chassis: str) -> str:
    """Why --last is refused: other gateways with a proof of announcing."""
    from ovn_network_agent.diagnosis.readers import fleet as fleets
    found = fleets.read(conf, conf.ovn.ovsdb_connection_timeout)
    if found.problems:
        return ('--last: whether other gateways announce routers is unknown: '
                f'{"; ".join(found.problems)}')
    owners = {port.owner for port in found.ports
              if port.state == fleets.ANNOUNCED}
    others = ', '.join(each.hostname for each in found.gateways
                       if each.hostname in owners and each.chassis != chassis)
    return others and (f'--last: other gateways announce routers: {others}; '
                       'clean these nodes up first')
