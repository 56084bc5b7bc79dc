#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

# Starts the agent as contrib/systemd does: as its own user, with the two
# capabilities of its daemons, without any way to get others.
#
# A container gives its capabilities to root alone, so sudo starts this file
# as root (the sudoers file allows this file without arguments).  The
# environment of the container is left behind: variables would configure the
# agent, or change the code that Python loads.

set -o errexit -o nounset

CAPABILITIES=+net_admin,+dac_override

# The container with fluentd reads the log as a member of the group "kolla".
umask 0027
exec /usr/bin/env -i \
    PATH=/var/lib/kolla/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LANG=C.UTF-8 PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1 \
    /usr/bin/setpriv \
    --reuid ovn-network-agent --regid ovn-network-agent --init-groups \
    --bounding-set "-all,$CAPABILITIES" --inh-caps "-all,$CAPABILITIES" \
    --ambient-caps "-all,$CAPABILITIES" --no-new-privs \
    /var/lib/kolla/venv/bin/ovn-network-agent \
    --config-file /etc/ovn-network-agent/ovn-network-agent.conf
