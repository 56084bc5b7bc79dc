#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

# Plays stack, unstack and clean of the plugin: driver.sh DIRECTORY PYTHON.
# These functions stand for devstack's own of the same name; all else is real.

set -e
TOP=$(cd "$(dirname "$0")/../../../.." && pwd)
WORK=$1 PYTHON=$2
BIN=$(dirname "$PYTHON")

DEST=$WORK SYSTEMD_DIR=$WORK/systemd SYSTEMCTL="sudo systemctl"
STACK_USER=root ENABLE_DEBUG_LOG_LEVEL=True PUBLIC_BRIDGE=br-ex
OVN_NB_REMOTE=tcp:192.0.2.9:6641 OVN_SB_REMOTE=tcp:192.0.2.9:6642
OVN_NETWORK_AGENT_DIR=$TOP OVN_NETWORK_AGENT_CONF_DIR=$WORK/etc
# The kernel of the test may have no VRF.
OVN_NETWORK_AGENT_VRF= OVN_NETWORK_AGENT_PEER=192.0.2.1

sudo() { "$@"; }
install_package() { echo "install_package $*"; }
setup_develop() { echo "setup_develop $*"; }
enable_service() { :; }
is_service_enabled() { [[ $1 = ovn-network-agent ]]; }
get_python_exec_prefix() { echo "$BIN"; }
iniset() {
    [[ $1 != -sudo ]] || shift
    "$PYTHON" - "$@" <<'END'
import sys
path, section, name, value = sys.argv[1:]
lines = open(path).read().splitlines()
if f'[{section}]' not in lines:
    lines += [f'[{section}]']
lines.insert(lines.index(f'[{section}]') + 1, f'{name} = {value}')
open(path, 'w').write('\n'.join(lines) + '\n')
END
}
write_user_unit_file() {
    mkdir -p "$SYSTEMD_DIR"
    printf '[Service]\nExecStart = %s\nUser = %s\n' "$2" "$4" \
        >"$SYSTEMD_DIR/$1"
}
# The command of the unit, which ends after it has read its files.
start_service() {
    local command
    command=$(sed -n 's/^ExecStart = //p' "$SYSTEMD_DIR/$1")
    $command --check-config
}
stop_service() { echo "stop_service $*"; }
# FRR itself, with the file that the plugin has written.
systemctl() {
    echo "systemctl $*"
    [[ "$*" = "restart frr" ]] || return 0
    local name
    for name in bgpd zebra; do
        [[ ! -e $WORK/frr/$name.pid ]] || kill "$(<"$WORK/frr/$name.pid")"
    done
    rm -rf "$WORK/frr"
    install -d -o frr -g frr "$WORK/frr"
    for name in zebra bgpd; do
        /usr/lib/frr/$name --daemon --config_file /etc/frr/frr.conf \
            --pid_file "$WORK/frr/$name.pid" --vty_socket "$WORK/frr" \
            --socket "$WORK/frr/zserv.api" -A 127.0.0.1 -P 0
    done
}

phase() { . "$TOP/devstack/plugin.sh"; }

ip link set lo up
mkdir "$WORK/etcfrr"
printf 'bgpd=no\n' >"$WORK/etcfrr/daemons"
printf '! before\n' >"$WORK/etcfrr/frr.conf"
chmod -R a+rX "$WORK"
mount --bind "$WORK/etcfrr" /etc/frr
. "$TOP/devstack/settings"
phase stack install
phase stack post-config
phase stack extra
echo "-- BGP"
vtysh --vty_socket "$WORK/frr" -c "show running-config"
echo "-- configuration"
grep -v '^#' "$WORK/etc/ovn-network-agent.conf" | grep .
echo "-- unit"
cat "$SYSTEMD_DIR"/*
phase unstack
phase clean
echo "-- left"
cat /etc/frr/frr.conf
find "$WORK/etc" "$SYSTEMD_DIR" -type f 2>/dev/null || :
