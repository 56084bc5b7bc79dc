# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

# devstack plugin: installs FRR and the agent on a node with OVN, and runs the
# agent as devstack@ovn-network-agent.

FRR_CONF=/etc/frr/frr.conf

function install_ovn_network_agent {
    install_package frr
    setup_develop "$OVN_NETWORK_AGENT_DIR"
}

# The operator's part: VRF, BGP instance and its outbound filter.  The agent
# never makes any of these.
function configure_ovn_network_agent_frr {
    local instance="router bgp $OVN_NETWORK_AGENT_ASN"
    if [[ -n "$OVN_NETWORK_AGENT_VRF" ]]; then
        if ! ip link show "$OVN_NETWORK_AGENT_VRF" >/dev/null 2>&1; then
            # Cloud images keep the module in linux-modules-extra.
            sudo modprobe vrf || install_package "linux-modules-extra-$(uname -r)"
            sudo ip link add "$OVN_NETWORK_AGENT_VRF" type vrf \
                table "$OVN_NETWORK_AGENT_VRF_TABLE"
        fi
        sudo ip link set "$OVN_NETWORK_AGENT_VRF" up
        instance+=" vrf $OVN_NETWORK_AGENT_VRF"
    fi
    sudo sed -i 's/^bgpd=no/bgpd=yes/' /etc/frr/daemons
    # "clean" gives it back.
    if [[ -e "$FRR_CONF" && ! -e "$FRR_CONF.devstack" ]]; then
        sudo cp -p "$FRR_CONF" "$FRR_CONF.devstack"
    fi
    {
        echo "frr defaults datacenter"
        echo "$instance"
        echo " no bgp ebgp-requires-policy"
        if [[ -n "$OVN_NETWORK_AGENT_PEER" ]]; then
            echo " neighbor $OVN_NETWORK_AGENT_PEER remote-as $OVN_NETWORK_AGENT_PEER_ASN"
        fi
        echo " address-family ipv4 unicast"
        echo "  redistribute static"
        if [[ -n "$OVN_NETWORK_AGENT_PEER" ]]; then
            echo "  neighbor $OVN_NETWORK_AGENT_PEER prefix-list ANNOUNCED-NETWORKS out"
        fi
        echo " exit-address-family"
    } | sudo tee "$FRR_CONF" >/dev/null
    sudo systemctl restart frr
}

function configure_ovn_network_agent {
    sudo install -d -o "$STACK_USER" "$OVN_NETWORK_AGENT_CONF_DIR"
    # The sample is commented out throughout, so these are all that is set.
    cp "$OVN_NETWORK_AGENT_DIR/etc/ovn-network-agent/ovn-network-agent.conf.sample" \
        "$OVN_NETWORK_AGENT_CONF"
    iniset "$OVN_NETWORK_AGENT_CONF" DEFAULT debug "$ENABLE_DEBUG_LOG_LEVEL"
    iniset "$OVN_NETWORK_AGENT_CONF" DEFAULT bridge_dev "$PUBLIC_BRIDGE"
    iniset "$OVN_NETWORK_AGENT_CONF" ovn ovn_nb_remote "$OVN_NB_REMOTE"
    iniset "$OVN_NETWORK_AGENT_CONF" ovn ovn_sb_remote "$OVN_SB_REMOTE"
    if is_service_enabled tls-proxy; then
        iniset "$OVN_NETWORK_AGENT_CONF" ovn ovn_ssl_ca "$INT_CA_DIR/ca-chain.pem"
        iniset "$OVN_NETWORK_AGENT_CONF" ovn ovn_ssl_cert "$INT_CA_DIR/$DEVSTACK_CERT_NAME.crt"
        iniset "$OVN_NETWORK_AGENT_CONF" ovn ovn_ssl_key "$INT_CA_DIR/private/$DEVSTACK_CERT_NAME.key"
    fi
    iniset "$OVN_NETWORK_AGENT_CONF" frr vrf_name "$OVN_NETWORK_AGENT_VRF"
}

function start_ovn_network_agent {
    local unit=devstack@ovn-network-agent.service
    write_user_unit_file "$unit" \
        "$OVN_NETWORK_AGENT_BIN --config-file $OVN_NETWORK_AGENT_CONF" "" root
    # As in contrib/systemd: the privileged daemons outlive SIGTERM, a reload
    # changes options without a restart, and a program that the kernel kills
    # for its memory stops nothing.
    iniset -sudo "$SYSTEMD_DIR/$unit" Service KillMode mixed
    iniset -sudo "$SYSTEMD_DIR/$unit" Service TimeoutStopSec 180
    iniset -sudo "$SYSTEMD_DIR/$unit" Service OOMPolicy continue
    iniset -sudo "$SYSTEMD_DIR/$unit" Service ExecReload '/bin/kill -HUP $MAINPID'
    $SYSTEMCTL daemon-reload
    start_service "$unit"
}

# After "unstack": the agent has removed its own objects.
function clean_ovn_network_agent {
    sudo rm -rf "$OVN_NETWORK_AGENT_CONF_DIR"
    sudo rm -f "$SYSTEMD_DIR/devstack@ovn-network-agent.service"
    if [[ -e "$FRR_CONF.devstack" ]]; then
        sudo mv "$FRR_CONF.devstack" "$FRR_CONF"
        sudo systemctl restart frr
    fi
    if [[ -n "$OVN_NETWORK_AGENT_VRF" ]] &&
            ip link show "$OVN_NETWORK_AGENT_VRF" >/dev/null 2>&1; then
        sudo ip link delete "$OVN_NETWORK_AGENT_VRF"
    fi
}

if is_service_enabled ovn-network-agent; then
    case "$1 ${2:-}" in
    "stack install")
        install_ovn_network_agent
        ;;
    "stack post-config")
        configure_ovn_network_agent_frr
        configure_ovn_network_agent
        ;;
    "stack extra")
        start_ovn_network_agent
        ;;
    "unstack ")
        stop_service devstack@ovn-network-agent.service
        ;;
    "clean ")
        clean_ovn_network_agent
        ;;
    esac
fi
