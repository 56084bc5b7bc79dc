# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What Neutron and operators change all day."""

from lab import plan
from lab import routers
from lab.chaos import world as worlds
from lab.chaos.actions import base

_OVN = 'the chassis change over one after the other'
_BEYOND = 100
_PATIENCE = 30


def _fips(step):
    world = step.world
    cidr = world.routers[step.target].internal.cidr
    made = world.add_fips(step.target, [
        str(cidr[_BEYOND + n]) for n in range(step['count'])])
    step.hold()
    half = len(made) // 2
    if half:
        world.remove_fips(step.target, made[:half])
        step.hold()
    world.remove_fips(step.target, made[half:])


def _readdress(step):
    world = step.world
    cidr = world.routers[step.target].internal.cidr
    fip, = world.add_fips(step.target, [str(cidr[_BEYOND])])
    step.hold()
    world.remove_fips(step.target, [fip])
    made, = world.add_fips(step.target, [str(cidr[_BEYOND + 1])])
    step.hold()
    world.remove_fips(step.target, [made])


def _router(step):
    world, names = step.world, step.cloud.gateways
    first = names.index(step.target)
    world.add_router('gamma', names[first:] + names[:first])
    world.add_fips('gamma', [str(
        world.routers['gamma'].internal.cidr[_BEYOND])])
    step.hold()
    world.remove_router('gamma')


def _vip(step):
    world = step.world
    vip = world.vip(worlds.SECOND_VIP, plan.BACKENDS[step['backend']])
    before = {name: world.gateway(name).vips
              for name in step.cloud.gateways}
    for name, vips in before.items():
        world.set_vips(name, (*vips, vip))
    step.hold()
    for name, vips in before.items():
        world.set_vips(name, vips)


def _backend(step):
    world = step.world
    for backend in (plan.BACKENDS[step['backend']], plan.BACKENDS[0]):
        for name in step.cloud.gateways:
            world.set_vips(name, [world.vip(worlds.FIRST_VIP, backend)])
        step.hold()


# -- moves ------------------------------------------------------------------

def _prefer(step, router, name):
    """Make a gateway the first of a router, by its priority alone."""
    one = step.world.routers[router]
    neutron = step.cloud.neutron
    step.excuse_moves(router, _OVN)
    highest = max(neutron.priorities(one).values())
    neutron.set_priorities(one, {name: highest + 1})


def _wait_owner(step, router, name):
    step.cloud.wait_owner(step.world.routers[router], name, _PATIENCE)


def _other(step, router):
    names = step.cloud.gateways
    owner = step.world.owner(router)
    return names[(names.index(owner) + 1) % len(names)]


def _priority(step):
    name = _other(step, step.target)
    _prefer(step, step.target, name)
    _wait_owner(step, step.target, name)


def _back(step):
    """There and back again, sooner than the agents are ready."""
    owner = step.world.owner(step.target)
    name = _other(step, step.target)
    _prefer(step, step.target, name)
    step.hold()
    _prefer(step, step.target, owner)
    _wait_owner(step, step.target, owner)


def _double(step):
    names = step.cloud.gateways
    other = names[(names.index(step.target) + 1) % len(names)]
    for name in (step.target, other):
        for router in step.world.routers:
            _prefer(step, router, name)
        step.hold()
    for router in step.world.routers:
        _wait_owner(step, router, other)


def _group(step):
    world, router = step.world, step.world.routers[step.target]
    name = _other(step, step.target)
    remove, add = {routers.GATEWAY_CHASSIS: (_chassis_out, _chassis_in),
                   routers.HA_CHASSIS_GROUP: (_member_out, _member_in)}[
                       world.profile.scheduler]
    remove(step.cloud, router, name)
    step.hold()
    add(step.cloud, router, name)


def _port(tables, router):
    return routers.find_one(tables, 'Logical_Router_Port', name=router.lrp)


def _chassis_out(cloud, router, name):
    def write(_txn, tables):
        port = _port(tables, router)
        for row in list(port.gateway_chassis):
            if row.chassis_name == plan.system_id(name):
                port.delvalue('gateway_chassis', row)

    cloud.nb.transact(write)


def _chassis_in(cloud, router, name):
    def write(txn, tables):
        row = routers.insert(
            txn, tables, 'Gateway_Chassis',
            name=f'{router.lrp}_{plan.system_id(name)}',
            chassis_name=plan.system_id(name), priority=1)
        _port(tables, router).addvalue('gateway_chassis', row.uuid)

    cloud.nb.transact(write)


def _member_out(cloud, router, name):
    def write(_txn, tables):
        for group in _port(tables, router).ha_chassis_group:
            for row in list(group.ha_chassis):
                if row.chassis_name == plan.system_id(name):
                    group.delvalue('ha_chassis', row)

    cloud.nb.transact(write)


def _member_in(cloud, router, name):
    def write(txn, tables):
        row = routers.insert(
            txn, tables, 'HA_Chassis', chassis_name=plan.system_id(name),
            priority=1, external_ids={'neutron:router_id': router.uuid})
        for group in _port(tables, router).ha_chassis_group:
            group.addvalue('ha_chassis', row.uuid)

    cloud.nb.transact(write)


ACTIONS = (
    base.Action('fip', 'one floating IP comes and goes', _fips, 'router',
                choices={'count': (1,)}, seconds=(0, 2)),
    base.Action('fips', 'many floating IPs come and go', _fips, 'router',
                choices={'count': (10, 20)}, seconds=(0.2, 2)),
    base.Action('readdress', 'an address gets another fixed address',
                _readdress, 'router', seconds=(0, 2)),
    base.Action('router', 'a router comes and goes', _router,
                seconds=(0.3, 3)),
    base.Action('vip', 'a VIP comes and goes', _vip,
                choices={'backend': (1, 2)}, seconds=(0.2, 3)),
    base.Action('backend', 'a VIP gets another backend', _backend,
                choices={'backend': (1, 2)}, seconds=(0.5, 2)),
    base.Action('priority', 'a gateway port moves by its priority',
                _priority, 'router'),
    base.Action('move-back', 'a gateway port moves, and moves back',
                _back, 'router', seconds=(0, 2)),
    base.Action('double-failover', 'all gateway ports move twice', _double,
                seconds=(0, 1.5)),
    base.Action('group', 'a standby leaves its group, and comes back',
                _group, 'router', seconds=(0.3, 3)),
)
