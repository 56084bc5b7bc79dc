#!/bin/bash
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
