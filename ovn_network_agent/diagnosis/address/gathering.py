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

"""Reading everything that concerns one address.

The order matters only where one reader needs what another has found.  A
failed reader leaves the reason in its place, and the others go on.
"""

import dataclasses

from ovn_network_agent import iptext
from ovn_network_agent import networks
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.conf import bridges
from ovn_network_agent.conf import mode
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf import veth_leak
from ovn_network_agent.control import addresses
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import driver_subjects
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import machines
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.address import tenants
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.diagnosis.readers import devices
from ovn_network_agent.diagnosis.readers import flows
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.diagnosis.readers import kernel
from ovn_network_agent.diagnosis.readers import nft
from ovn_network_agent.diagnosis.readers import nft_filters
from ovn_network_agent.diagnosis.readers import northbound
from ovn_network_agent.diagnosis.readers import packets
from ovn_network_agent.diagnosis.readers import sources
from ovn_network_agent.diagnosis.readers import southbound
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.diagnosis.readers import vips
from ovn_network_agent.drivers import announcing
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import own_chassis
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn import snapshot
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.runtime import loader

# Seconds for all questions to one database.
_DATABASE = 5.0
_ESTABLISHED = 'Established'


def setup(conf, client):
    """The options that the judges need.

    :param conf: the oslo.config ConfigOpts
    :param client: address outside
    :returns: :class:`facts.Setup`
    """
    return facts.Setup(
        bridges.served(conf), conf.frr.vrf_name, veth_leak.enabled(conf),
        conf.fip_route.announce_method, conf.frr.frr_prefix_list,
        conf.frr.bgp_check,
        tuple(conf.network_cidr), conf.gateway_port, tuple(conf.drivers),
        client, conf.port_forward.port_forward_dev,
        not mode.forwards_only(conf),
        conf.port_forward.port_forward_ct_zone)


def gather(conf, address, client, control):
    """Read what concerns an address.

    :param conf: a loaded oslo.config ConfigOpts
    :param address: IP address or prefix in canonical notation
    :param client: an address outside, for the way back
    :param control: path of the agent's control socket, '' for none
    :returns: :class:`facts.Facts`
    :raises loader.LoadError: when a driver cannot be loaded
    :raises ValueError: when the rules file of port forwarding cannot be used
    """
    known = setup(conf, client)
    said = attempt(agent.ask, control, 'status')
    drivers = loader.load_drivers(conf)
    found = facts.Facts(known, _nothing(address), agent=said,
                        standing=_standing(said, control, address))
    if not mode.forwards_only(conf):
        found = _in_ovn(conf, address, drivers, found)
        if (found.databases or found.subject.asked or
                not _is_free(found.subject)):
            return found
    vip = vips.find(conf, address, said, drivers)
    if vip is not None:
        return _vip(dataclasses.replace(found, subject=vip))
    return found if mode.forwards_only(conf) else _driver_subjects(
        conf, drivers, control, found)


def _nothing(asked):
    """The :class:`subject.Subject` before anything is known of it."""
    return subjects.Subject(
        str(iptext.network(asked).network_address),
        asked=asked if '/' in asked else '')


def _is_free(subject):
    """Whether something else on this node may have an address.

    A tenant may give its machine any address.
    """
    return subject.kind is subjects.Kind.NOBODY or (
        subject.binding is not None and not subject.here)


def _driver_subjects(conf, drivers, control, found):
    """The facts about an address that sources of drivers may have."""
    if not any(driver.SOURCES for driver in drivers):
        return found
    try:
        made, unmade = sources.read(conf, drivers, _DATABASE)
    except readers.Unread as error:
        return dataclasses.replace(found, unmade=(str(error),))
    about, failed, address = [], list(unmade), found.subject.address
    for driver in drivers:
        for name, subject in made:
            if type(subject) not in driver.SUBJECTS:
                continue
            text = f'{name} of driver {driver.name}'
            try:
                wanted = driver_subjects.concerning(
                    driver.resources(subject, found.subject.node), address)
            except Exception as error:
                failed.append(f'{text}: {type(error).__name__}: {error}')
                continue
            if wanted:
                about.append(driver_subjects.DriverSubject(
                    text, wanted, driver_subjects.layers(driver, subject,
                                                         address)))
    return dataclasses.replace(
        found, driver_subjects=tuple(about), unmade=tuple(failed),
        rows=attempt(_rows, control, address) if about else found.rows)


def _rows(control, address):
    """See :attr:`facts.Facts.rows`."""
    said = agent.ask(control, 'fips', address)
    return {(row['kind'], row['ref']): row for each in (
        said, *said['addresses']) for row in each.get('resources', ())}


def _in_ovn(conf, address, drivers, found):
    """The facts about an address, as far as OVN has it."""
    try:
        about, bindings = find(conf, address, drivers, found.standing)
    except readers.Unread as error:
        found = dataclasses.replace(found, databases=error)
        if not isinstance(found.standing, dict) or (
                addresses.TENANT in found.standing.get('kinds', ())):
            return found
        about, bindings = subjects.without_ovn(
            address, conf.bridge_dev, devices.node(
                conf.bridge_dev, conf.frr.vrf_name), drivers), ()
    found = dataclasses.replace(found, subject=about, bindings=bindings)
    if about.here and about.kind in (subjects.Kind.FIP,
                                     subjects.Kind.DISTRIBUTED):
        found = dataclasses.replace(found, inside=attempt(
            northbound.read_inside, conf, about.router.uuid,
            about.nat.logical_ip, _DATABASE))
    return _node(conf, found) if about.here else found


def _standing(said, control, address):
    """The agent's view of an address, see :attr:`facts.Facts.standing`."""
    if isinstance(said, readers.Unread):
        return said
    found = attempt(agent.ask, control, 'fips', address)
    if isinstance(found, readers.Unread):
        return found
    rows_ = [each for each in found.get('addresses', ())
             if networks.covers(each.get('address', ''), address)]
    return min(rows_, default=None, key=lambda each: (
        '/' in each['address'], each.get('state') != 'announced'))


def _vip(found):
    """Read what this node has for a VIP."""
    about = found.subject
    found = dataclasses.replace(
        found, kernel=attempt(kernel.read, kernel_wanted(about, found.setup)),
        filters=attempt(nft_filters.read),
        translation=attempt(nft.read, about.vip.version, found.setup.zone,
                            about.targets))
    if not found.announces:
        return found
    return announcement(found)


def attempt(function, *arguments):
    """The result of a reader, or the :class:`readers.Unread` it raises."""
    try:
        return function(*arguments)
    except readers.Unread as error:
        return error


def find(conf, address, drivers, standing=None):
    """The kind of an address, and the objects that the address needs.

    :param conf: the oslo.config ConfigOpts
    :param address: IP address or prefix in canonical notation
    :param drivers: list of :class:`drivers.base.Driver`
    :param standing: see :attr:`facts.Facts.standing`
    :returns: (:class:`subject.Subject`; static MAC bindings, see
        :attr:`facts.Facts.bindings`)
    :raises readers.Unread: when a database cannot be read
    """
    wiring = switch.read(conf, _DATABASE)
    try:
        about, bindings = _nothing(address), ()
        if not about.asked:
            nb, sb = _gateways(conf, wiring, address)
            about = subjects.make(address, _builder(conf), nb, sb, wiring,
                                  drivers)
            bindings = _bindings(nb)
            if about.kind is subjects.Kind.NOBODY and (
                    plugins.asked(conf, plugins.MACHINES)):
                about = _of_machine(conf, wiring, drivers, about)
        if plugins.asked(conf, plugins.TENANTS) and (
                about.kind is subjects.Kind.NOBODY or
                about.kind is subjects.Kind.BALANCER and
                not _is_public(conf, about) or
                about.binding and about.binding.left_out):
            nb, sb = _behind(conf, wiring, address)
            found = tenants.make(address, _builder(conf), nb, sb, wiring,
                                 drivers, standing)
            if found.tenant:
                return found, _bindings(nb)
        return about, bindings
    except own_chassis.Unknown as error:
        raise readers.Unread(str(error)) from error


def _is_public(conf, about):
    return about.port is not None and networks.inside(
        about.address, announcing.provider_networks(conf, about.port))


def _builder(conf):
    return snapshot.Builder(conf.gateway_port, inputs.choice(conf))


def _bindings(nb):
    """See :attr:`facts.Facts.bindings`."""
    return tuple((row.logical_port, row.ip, row.mac.lower())
                 for row in nb.get('Static_MAC_Binding', {}).values())


def _gateways(conf, wiring, address):
    """The rows of NB and SB about an address of routers."""
    nb = northbound.read(conf, address, _DATABASE)
    ports = [port for port in nb['Logical_Router_Port'].values()
             if rows.members(port)[2]]
    return nb, _southbound(conf, wiring, nb, ports, _machines(address, nb))


def _behind(conf, wiring, prefix):
    """The rows of NB and SB about a prefix of tenants."""
    nb = northbound.read_tenants(conf, prefix, _DATABASE)
    return nb, _southbound(
        conf, wiring, nb, [*nb['Logical_Router_Port'].values()], (),
        conf.tenant_network.advertisement_method == 'host')


def _southbound(conf, wiring, nb, ports, machines_, hosts=False):
    return southbound.read(
        conf, wiring, [port.name for port in ports],
        [member.chassis_name for port in ports
         for member in rows.members(port)[2]],
        sorted({wiring.hostname} | {
            ownership.owner(row.external_ids).hostname
            for row in nb['Logical_Router_Static_Route'].values()} - {''}),
        machines_, _DATABASE, hosts)


def _of_machine(conf, wiring, drivers, about):
    """The subject with the port of a machine that has the address, if any."""
    sb, names = southbound.read_ports(conf, wiring, about.address, _DATABASE)
    if not names:
        return about
    return machines.make(
        about.address,
        _builder(conf),
        northbound.read_networks(conf, sb, _DATABASE), sb, wiring, drivers,
        names, conf.provider_port.allowed_address_pairs)


def _machines(address, nb):
    """The logical port of a floating IP's machine, a list of names."""
    row = subjects.floating(address, nb)
    return [columns.optional(row, 'logical_port')] if row else []


def _node(conf, found):
    """Read what this node has for an address that is here."""
    about, known = found.subject, found.setup
    found = dataclasses.replace(
        found,
        flows=attempt(flows.read, conf, about.wanted_of(resources.Flow)),
        journeys=attempt(packets.read, conf, known, about),
        filters=attempt(nft_filters.read),
        kernel=attempt(kernel.read, kernel_wanted(about, known)))
    return announcement(found) if found.announces else found


def kernel_wanted(about, known):
    """The objects to read from the kernel, a :class:`kernel.Wanted`.

    :param about: :class:`subject.Subject`
    :param known: :class:`facts.Setup`
    """
    device = known.vip_device if about.vip else facts.device(
        about.place, known.bridges)
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


def announcement(found):
    """Read what FRR has for an address.

    :param found: :class:`facts.Facts`
    :returns: :class:`facts.Facts` with the parts of FRR
    """
    about, known = found.subject, found.setup
    found = dataclasses.replace(
        found, zebra=attempt(frr.read_zebra, known.vrf, about.prefix))
    if known.prefix_list:
        found = dataclasses.replace(
            found, lists=attempt(frr.read_lists, known.prefix_list,
                                 found.version))
    if not known.bgp:
        return found
    path = attempt(frr.read_path, known.vrf, about.prefix)
    peers = attempt(frr.read_neighbours, known.vrf, found.version)
    found = dataclasses.replace(found, path=path, neighbours=peers)
    if isinstance(path, readers.Unread) or isinstance(peers, readers.Unread):
        return found
    if not path[0]:
        # Only now is the whole configuration worth its price.
        return dataclasses.replace(found, frr_setup=attempt(
            frr.read_setup, known.vrf, known.prefix_list, found.version))
    return dataclasses.replace(found, neighbours=tuple(
        each if each.name in path[2] or each.state != _ESTABLISHED
        else _filtered(known.vrf, each, found.version) for each in peers))


def _filtered(vrf, neighbour, version):
    found = attempt(frr.read_filters, vrf, neighbour, version)
    return neighbour if isinstance(found, readers.Unread) else found
