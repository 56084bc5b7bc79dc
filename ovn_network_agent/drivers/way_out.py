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

"""Announcements from the provider VRF, and its default route.  Pure."""

from ovn_network_agent import ownership
from ovn_network_agent import resources

# The OTHER_OPTIONS of a driver that announces.
OPTIONS = ('fip_route.announce_method', 'veth_leak.veth_nexthop')


def announcement(settings, node, prefix, dev, requires=()):
    """The resource that announces a prefix, by the configured method.

    :param settings: :class:`conf.settings.Settings` with the options of
        :data:`OPTIONS`
    :param node: :class:`model.Node`
    :param prefix: text such as '198.51.100.10/32'
    :param dev: device of the route if there is no VRF
    :param requires: refs of the prerequisites
    :returns: :class:`resources.AnnouncedRoute` or
        :class:`resources.Announcement`; None as long as the VRF is missing
    """
    kernel = settings.fip_route.announce_method == 'kernel'
    name = settings.frr.vrf_name
    if not name:
        return (resources.AnnouncedRoute(resources.MAIN_TABLE, prefix, dev,
                                         requires=requires)
                if kernel else resources.Announcement(
                    '', prefix, dev, requires=requires))
    nexthop = settings.veth_leak.veth_nexthop
    if not kernel:
        return resources.Announcement(name, prefix, nexthop,
                                      requires=requires)
    vrf = node.device(name)
    if vrf is None or not vrf.vrf_table:
        return None
    return resources.AnnouncedRoute(
        vrf.vrf_table, prefix, ownership.VETH_PROVIDER, nexthop,
        requires=requires)


def missing(settings, node, consequence):
    """The problem of a VRF without a default route, which the agent needs.

    :param settings: :class:`conf.settings.Settings`
    :param consequence: the dropped packets, as the middle of a sentence
    :returns: iterable of :class:`resources.Problem`, at most one
    """
    vrf = node.device(settings.frr.vrf_name)
    if vrf is not None and vrf.default_route is False:
        yield resources.Problem(
            f'the way out of VRF {vrf.name}: it has no default route, so '
            f'{consequence}; have a default route come in by BGP, which needs '
            'a filter of the neighbour that lets it in, or set one in FRR')
