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

"""The proof that this chassis announces a router.  Pure.

The former owner of a gateway port announces its addresses until the new owner
has the proof.  So the proof is wanted only without any doubt, and requires all
resources of the router.
"""

from ovn_network_agent import resources


def proofs(router, node, wanted):
    """The proof for a router that is active here.

    The proof is a key on the default route, so there is no proof without this
    route.  Nor is there one while a resource of the router is only kept as
    found, or while a reachable address is not announced.

    :param router: :class:`model.Router`
    :param node: :class:`model.Node`
    :param wanted: list of all resources that are wanted for the router
    :returns: iterable of :class:`resources.Advertised`, at most one
    """
    routes, announced, addresses, following = [], {}, set(), []
    for resource in wanted:
        if resource.kind == resources.Keep.kind:
            return
        if resource.follows and resource.subject:
            following.append(resource.ref)
        if resource.kind == resources.DefaultRoute.kind:
            routes.append(resource.ref)
        elif resource.stage is resources.Stage.ANNOUNCE:
            announced[resource.subject] = resource.ref
        elif (resource.subject or '').endswith('/32'):
            addresses.add(resource.subject)
    if routes and node.hostname and addresses <= announced.keys():
        prefixes = tuple(sorted(announced))
        yield resources.Advertised(
            router.uuid, node.hostname, prefixes,
            requires=(*routes, *(announced[p] for p in prefixes),
                      *following))
