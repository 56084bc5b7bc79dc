# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Reading everything that concerns one address.

The order matters only where one reader needs what another has found.  A
failed reader leaves the reason in its place, and the others go on.
"""

from collections.abc import Callable
from collections.abc import Sequence
import functools
import typing

from oslo_config import cfg

from ovn_network_agent import resources
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.conf import mode
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import validate
from ovn_network_agent.conf.options import veth_leak
from ovn_network_agent.control.reports import addresses
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import driver_subjects
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import finding
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.diagnosis.readers import evpn
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.diagnosis.readers import kernel
from ovn_network_agent.diagnosis.readers import northbound
from ovn_network_agent.diagnosis.readers import packets
from ovn_network_agent.diagnosis.readers import sources
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.drivers import base
from ovn_network_agent.model import evpn_names
from ovn_network_agent.runtime import loader

_ESTABLISHED = 'Established'


def setup(conf: cfg.ConfigOpts, client: str) -> facts.Setup:
    """The options that the judges need."""
    return facts.Setup(
        bridges.served(conf), conf.frr.vrf_name, veth_leak.enabled(conf),
        conf.fip_route.announce_method, conf.frr.frr_prefix_list,
        conf.frr.bgp_check,
        tuple(conf.network_cidr), conf.gateway_port, tuple(conf.drivers),
        client, conf.port_forward.port_forward_dev,
        not mode.forwards_only(conf),
        conf.port_forward.port_forward_ct_zone)


def gather(conf: cfg.ConfigOpts, address: str, client: str, control: str,
           vni: int | None = None) -> list[facts.Facts]:
    """Read what concerns an address: outside of VNIs, and in each VNI.

    :param address: IP address or prefix in canonical notation
    :param client: an address outside, for the way back
    :param control: control socket, '' for none
    :param vni: the only one, 0 for outside of VNIs, None for all
    :returns: by VNI, empty if there is nothing in this VNI
    :raises loader.LoadError: when a driver cannot be loaded
    :raises ValueError: when the rules file of port forwarding cannot be used
    """
    known = setup(conf, client)
    answer = attempt(agent.ask, control, 'status')
    standings = answer if isinstance(answer, readers.Unread) else attempt(
        agent.ask, control, 'fips', address)
    drivers = loader.load_drivers(conf)
    outside, in_vnis = facts.Facts(
        known, finding.nothing(address), agent=answer,
        status=_status(standings, address)), list[facts.Facts]()
    if not mode.forwards_only(conf):
        outside, in_vnis = _in_ovn(conf, address, drivers, outside, standings)
    if not (outside.databases or outside.subject.asked) and vni in (None, 0):
        outside = _peerings(conf, drivers, control, _beside_ovn(
            conf, drivers, control, outside))
    if vni in (None, 0):
        outside = outside._replace(egress=attempt(
            driver_subjects.read, conf, control, address))
    if in_vnis and _is_nobodys(outside):
        return [each for each in in_vnis if vni in (None, each.subject.vni)]
    return [each for each in (outside, *in_vnis)
            if vni in (None, each.subject.vni) or each.databases]


def _beside_ovn(conf: cfg.ConfigOpts, drivers: Sequence[base.Driver],
                control: str, found: facts.Facts) -> facts.Facts:
    if not mode.forwards_only(conf) and not _is_free(found.subject):
        return found
    vip = sources.find_vip(conf, found.subject.address, found.agent, drivers)
    if vip is not None:
        return _vip(found._replace(subject=vip))
    return found if mode.forwards_only(conf) else _driver_subjects(
        conf, drivers, control, found)


def _is_nobodys(found: facts.Facts) -> bool:
    return (found.subject.kind is subjects.Kind.NOBODY and
            not found.driver_subjects and not found.unmade and
            not found.peerings and not found.egress)


def _is_free(subject: subjects.Subject) -> bool:
    """Whether others here may have it: a tenant may use any address."""
    return subject.kind is subjects.Kind.NOBODY or (
        subject.binding is not None and not subject.here)


def _peerings(conf: cfg.ConfigOpts, drivers: Sequence[base.Driver],
              control: str, found: facts.Facts) -> facts.Facts:
    if found.subject.node is None or not (
            _is_free(found.subject) or found.subject.tenant):
        return found
    ways = attempt(sources.read_peerings, conf, drivers, found.subject.address,
                   found.subject.node)
    if not ways:
        return found
    # The agent tells the standing of what it announces alone.
    return found._replace(
        peerings=ways, peers=attempt(agent.ask, control, 'peers'),
        status=facts.NOT_READ if found.status is None else found.status)


def _driver_subjects(conf: cfg.ConfigOpts, drivers: Sequence[base.Driver],
                     control: str, found: facts.Facts) -> facts.Facts:
    drivers = [driver for driver in drivers if driver.SOURCES]
    if not drivers:
        return found
    try:
        made, unmade, _rows_of = sources.read(conf, drivers)
    except readers.Unread as error:
        return found._replace(unmade=(str(error),))
    about, failed, address = [], list(unmade), found.subject.address
    for driver in drivers:
        for name, subject in made:
            if type(subject) not in driver.SUBJECTS:
                continue
            text = f'{name} of driver {driver.name}'
            try:
                wanted = driver_subjects.concerning(
                    driver.resources(subject, subjects.certain(
                        found.subject.node)), address)
            except Exception as error:
                failed.append(f'{text}: {wording.typed_error(error)}')
                continue
            if wanted:
                about.append(driver_subjects.DriverSubject(
                    text, wanted, driver_subjects.layers(driver, subject,
                                                         address)))
    return found._replace(
        driver_subjects=tuple(about), unmade=tuple(failed),
        rows=attempt(_rows, control, address) if about else found.rows)


def _rows(control: str, address: str) -> dict[tuple[str, str], agent.Answer]:
    """See :attr:`facts.Facts.rows`."""
    answer = agent.ask(control, 'fips', address)
    return {(row['kind'], row['ref']): row for each in (
        answer, *answer['addresses']) for row in each.get('resources', ())}


def _in_ovn(conf: cfg.ConfigOpts, address: str, drivers: Sequence[base.Driver],
            found: facts.Facts, standings: agent.Answer | readers.Unread
            ) -> tuple[facts.Facts, list[facts.Facts]]:
    """The facts outside of VNIs, and those in VNIs, as far as OVN has them."""
    in_vnis = []
    try:
        (about, *others), bindings = finding.find(
            conf, address, drivers, functools.partial(
                _status, standings, address))
        in_vnis = [_in_vni(conf, _with_inner_address(conf, found._replace(
            subject=each, bindings=bindings,
            status=_status(standings, address, each.vni))))
                   for each in others]
    except readers.Unread as error:
        found = found._replace(databases=error)
        if not isinstance(found.status, dict) or (
                addresses.TENANT in found.status.get('kinds', ())):
            return found, []
        about, bindings = subjects.without_ovn(
            address, conf.bridge_dev, switch.node(
                conf.bridge_dev, conf.frr.vrf_name), drivers), ()
    found = _with_inner_address(conf, found._replace(
        subject=about, bindings=bindings))
    return _node(conf, found) if about.here else found, in_vnis


def _with_inner_address(conf: cfg.ConfigOpts, found: facts.Facts
                        ) -> facts.Facts:
    about = found.subject
    return found._replace(inner_address=attempt(
        northbound.read_inner_address, conf,
        subjects.certain(about.router).uuid,
        subjects.certain(about.nat).logical_ip)) if (
            about.here and about.kind in (
                subjects.Kind.FIP, subjects.Kind.DISTRIBUTED)) else found


def _status(answer: agent.Answer | readers.Unread, address: str, vni: int = 0
            ) -> agent.Answer | readers.Unread | None:
    """The agent's view of an address, see :attr:`facts.Facts.status`."""
    if isinstance(answer, readers.Unread):
        return answer
    found = [each for each in answer.get('addresses', ())
             if each.get('vni', 0) == vni and
             networks.covers(each.get('address', ''), address)]
    return min(found, default=None, key=lambda each: (
        '/' in each['address'], each.get('state') != 'announced'))


def _vip(found: facts.Facts) -> facts.Facts:
    about = found.subject
    found = found._replace(
        kernel=attempt(kernel.read, kernel_wanted(about, found.setup)),
        filters=attempt(kernel.read_filters),
        translation=attempt(
            kernel.read_translation, subjects.certain(about.vip).version,
            found.setup.zone, about.targets))
    if not found.announces:
        return found
    return announcement(found)


def attempt(function: Callable[..., typing.Any], *arguments: typing.Any
            ) -> typing.Any:
    """The result of a reader, or the :class:`readers.Unread` it raises."""
    try:
        return function(*arguments)
    except readers.Unread as error:
        return error


def _node(conf: cfg.ConfigOpts, found: facts.Facts) -> facts.Facts:
    found = _packets(conf, found)
    return announcement(found) if found.announces else found


def _packets(conf: cfg.ConfigOpts, found: facts.Facts) -> facts.Facts:
    """The facts with what decides about the packets of an address."""
    about, known = found.subject, found.setup
    return found._replace(
        flows=attempt(switch.read_flows, conf,
                      about.wanted_of(resources.Flow)),
        packet_traces=attempt(packets.read, conf, known, about),
        filters=attempt(kernel.read_filters),
        kernel=attempt(kernel.read, kernel_wanted(about, known)))


def _in_vni(conf: cfg.ConfigOpts, found: facts.Facts) -> facts.Facts:
    about = found.subject
    if about.end is None or not about.here:
        return found
    vrf = evpn_names.vrf(about.vni)
    vni = evpn.Vni(attempt(evpn.read_devices), attempt(
        evpn.read_port, conf, about.end.name))
    # zebra takes the routes from the kernel.
    known = found.setup._replace(
        vrf=vrf, pair=False, method='kernel', prefix_list='')
    found = _packets(conf, found._replace(setup=known, vni=vni))
    if not found.announces:
        return found
    path, rds = attempt(frr.read_path, vrf, about.prefix), attempt(
        evpn.read_rds)
    rd = '' if isinstance(rds, readers.Unread) else rds.get(about.vni)
    return found._replace(
        path=path, frr_setup=attempt(
            frr.read_setup, vrf, '', found.version)
        if path == (False, False, ()) else None, vni=vni._replace(
            rds=rds, states=attempt(evpn.read_states),
            routes=attempt(evpn.read_routes, rd) if rd else {},
            sessions=attempt(evpn.read_sessions, conf.frr.vrf_name),
            hops=attempt(evpn.read_hops, conf)))


def kernel_wanted(about: subjects.Subject, known: facts.Setup
                  ) -> kernel.Wanted:
    """The objects to read from the kernel."""
    device = about.end.name if about.end else (
        known.vip_device if about.vip else facts.device(
            about.place, known.bridges))
    return kernel.Wanted(
        about.address, known.client, device, known.vrf, known.pair,
        about.vip is None,
        ((device, about.nexthop), *((each.dev, each.dst) for each in
                                    about.wanted_of(resources.Neighbour))),
        tuple(each.path for each in about.wanted_of(resources.Sysctl)),
        tuple(sorted({
            each.table for each in about.wanted_of(resources.KernelRoute)
            if not each.subject and each.dst.endswith('/0')})),
        bool(about.wanted_of(resources.NeighbourProxy)))


def announcement(found: facts.Facts) -> facts.Facts:
    """The facts with what FRR has for an address."""
    about, known = found.subject, found.setup
    found = found._replace(
        missing_daemons=attempt(frr.read_missing, (
            'zebra', *(('staticd',) if known.method == 'static' else ()),
            *(('bgpd',) if known.bgp else ()))),
        zebra=attempt(frr.read_zebra, known.vrf, about.prefix))
    if known.prefix_list:
        found = found._replace(
            lists=attempt(frr.read_lists, known.prefix_list,
                          found.version))
    if not known.bgp:
        return found
    path = attempt(frr.read_path, known.vrf, about.prefix)
    peers = attempt(frr.read_neighbours, known.vrf, found.version)
    found = found._replace(path=path, neighbours=peers)
    if isinstance(path, readers.Unread) or isinstance(peers, readers.Unread):
        return found
    if not path[0]:
        # Only now is the whole configuration worth its price.
        return found._replace(frr_setup=attempt(
            frr.read_setup, known.vrf, known.prefix_list, found.version))
    return found._replace(neighbours=tuple(
        each if each.name in path[2] or each.state != _ESTABLISHED
        else _filtered(known.vrf, each, found.version) for each in peers))


def _filtered(vrf: str, neighbour: frr.Neighbour, version: int
              ) -> frr.Neighbour:
    found = attempt(frr.read_filters, vrf, neighbour, version)
    return neighbour if isinstance(found, readers.Unread) else found


def load(files: list[str]) -> cfg.ConfigOpts:
    """Load the configuration as the agent does, and check it.

    It is cfg.CONF, which the modules that talk to FRR read.

    :param files: arguments that name files, see :func:`program.files`
    :raises cfg.Error: when a file cannot be read or parsed
    :raises ValueError: when a value cannot be used
    """
    conf = cfg.CONF
    opts.load(conf, files)
    try:
        validate.check(conf)
        if not all(map(_is_plain, (*conf.ovn.ovn_nb_remote,
                                   *conf.ovn.ovn_sb_remote,
                                   conf.ovs.ovsdb_connection))):
            # TLS and host names, which take long to import.
            from ovn_network_agent.ovsdb import streams
            streams.configure(conf)
    except validate.ConfigError as error:
        raise ValueError('; '.join(error.messages)) from error
    return conf


def _is_plain(remote: str) -> bool:
    """Whether python-ovs alone can open a remote well."""
    scheme, _colon, rest = remote.partition(':')
    if scheme == 'unix':
        return True
    try:
        ip_text.address(rest.rpartition(':')[0].strip('[]'))
    except ValueError:
        return False
    return scheme == 'tcp'
