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


"""The indexes by which the view finds rows.  Pure."""

from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import ownership
from ovn_network_agent.ovn import balancers
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import index


def make():
    """New empty indexes.

    :returns: dict of (database, table) to dict of name to
        :class:`index.Index`
    """
    return {
        ('sb', 'Port_Binding'): {
            'redirect': index.Index(_redirect_keys),
            'peer': index.Index(_peer_keys),
            'localnet': index.Index(_localnet_keys),
            'bound': index.Index(
                lambda r: [rows.chassis_name(r)]
                if r.type == 'chassisredirect' else ())},
        ('sb', 'Chassis'): {
            'name': index.Index(lambda r: [r.name]),
            'hostname': index.Index(lambda r: [r.hostname])},
        ('sb', 'Encap'): {
            'name': index.Index(lambda r: [r.chassis_name])},
        ('nb', 'Gateway_Chassis'): {
            'chassis': index.Index(lambda r: [r.chassis_name])},
        ('nb', 'HA_Chassis'): {
            'chassis': index.Index(lambda r: [r.chassis_name])},
        ('nb', 'HA_Chassis_Group'): {
            'member': index.Index(
                lambda r: columns.referenced(r, 'ha_chassis'))},
        ('nb', 'Logical_Router_Port'): {
            'name': index.Index(lambda r: [r.name]),
            'member': index.Index(
                lambda r: columns.referenced(r, 'gateway_chassis')),
            'group': index.Index(
                lambda r: columns.referenced(r, 'ha_chassis_group')),
            'nexthop': index.Index(_nexthop_keys),
            'address': index.Index(_address_keys)},
        ('nb', 'Load_Balancer'): {
            'address': index.Index(balancers.keys)},
        ('nb', 'Load_Balancer_Group'): {
            'balancer': index.Index(
                lambda r: columns.referenced(r, 'load_balancer'))},
        ('nb', 'NAT'): {
            'address': index.Index(lambda r: [r.external_ip])},
        ('nb', 'Logical_Router'): {
            'port': index.Index(lambda r: [p.uuid for p in r.ports]),
            'nat': index.Index(lambda r: columns.referenced(r, 'nat')),
            'balancer': index.Index(
                lambda r: columns.referenced(r, 'load_balancer')),
            'group': index.Index(
                lambda r: columns.referenced(r, 'load_balancer_group')),
            'route': index.Index(
                lambda r: columns.referenced(r, 'static_routes'))},
        ('nb', 'Logical_Router_Static_Route'): {
            'tag': index.Index(_tag_keys)},
    }


def _redirect_keys(row):
    if row.type == 'chassisredirect':
        yield row.logical_port.removeprefix(model.REDIRECT)


def _peer_keys(row):
    if row.type == 'patch' and 'peer' in row.options:
        yield row.options['peer']


def _localnet_keys(row):
    if row.type == 'localnet':
        yield row.datapath.uuid


def _tag_keys(row):
    if ownership.is_managed(row.external_ids):
        yield row.external_ids.get(ownership.EXT_ID_CHASSIS, '')


def _nexthop_keys(row):
    nexthop = networks.virtual_gateway(sorted(row.networks))
    if nexthop is not None:
        yield nexthop


def _address_keys(row):
    for text in row.networks:
        interface = networks.parse_interface(text)
        if interface is not None:
            yield str(interface.ip)
