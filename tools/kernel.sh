#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

# Shell library of tools/test, tools/quickstart and tools/versions: the source of
# the lab's kernel.  A program sources tools/lib.sh before this file.
#
# Environment: LAB_SERIES     the version to build, such as 6.12 (default: 7.3,
#                             or else what the distribution has)
#              DEBIAN_MIRROR  default: that of apt's configuration

# The source that the lab is fastest with, see lab/README.md, and the release of
# Debian that has it.
FAST_SERIES=7.3
FAST_SOURCE=linux-source-$FAST_SERIES
FAST_RELEASE=trixie-backports
DEBIAN_KEYS=/usr/share/keyrings/debian-archive-keyring.gpg

# need_kernel_place: refuse a cache in which no kernel can be built.
need_kernel_place() {
    local place=${XDG_CACHE_HOME:-$HOME/.cache}
    [ -z "${LAB_KERNEL:-}" ] || return 0
    case $place in
    *[[:space:]:]*)
        die "The lab builds its kernel in $place, and the makefiles of Linux" \
            "refuse a space or colon there. Name another place:" \
            "XDG_CACHE_HOME=..."
        ;;
    esac
}

# need_kernel: install the packages for the build of the lab's kernel, unless
# there is a kept kernel.  Needs need_venv before.
need_kernel() {
    ! "$PY" -m lab kernel --ready || return 0
    [ "$(uname -m)" = x86_64 ] || die "The lab needs a processor of the kind" \
        "x86_64: this one is $(uname -m)."
    need_packages kernel
    [ "${SKIP_APT:-}" != 1 ] || return 0
    if [ "${LAB_SERIES:-$FAST_SERIES}" = "$FAST_SERIES" ]; then
        ! compgen -G "/usr/src/$FAST_SOURCE.tar.*" >/dev/null || return 0
        ! newer_source || return 0
        [ -z "${LAB_SERIES:-}" ] || die "LAB_SERIES=$FAST_SERIES needs" \
            "$FAST_SOURCE, of which the reason is above."
        say "The lab takes another kernel, which is half as fast."
    fi
    compgen -G '/usr/src/linux-source-*.tar.*' >/dev/null || own_source
}

# newer_source: install FAST_SOURCE from Debian's backports.  The package has
# one archive, and fits any release.  The sources and lists of apt stay as they
# are.  Returns 1, with a reason, if that is not possible.
newer_source() {
    local directory=$ROOT/build/backports apt
    if [ ! -e "$DEBIAN_KEYS" ]; then
        say "$FAST_SOURCE needs the package debian-archive-keyring."
        return 1
    fi
    rm -rf "$directory"
    mkdir -p "$directory/lists/partial" "$directory/cache/archives/partial"
    echo "deb [signed-by=$DEBIAN_KEYS] $(mirror) $FAST_RELEASE main" \
        >"$directory/sources.list"
    apt=(apt-get -o Dir::Etc::sourcelist="$directory/sources.list"
        -o Dir::Etc::sourceparts=- -o Dir::State::lists="$directory/lists"
        -o Dir::Cache="$directory/cache" -o APT::Sandbox::User=root)
    if step "Looking for $FAST_SOURCE" "${apt[@]}" update &&
            (cd "$directory" && step "Fetching $FAST_SOURCE" \
                "${apt[@]}" download "$FAST_SOURCE") &&
            _without_services _install "$directory/$FAST_SOURCE"_*.deb; then
        rm -rf "$directory"
        return 0
    fi
    rm -rf "$directory"
    say "There is no $FAST_SOURCE in $FAST_RELEASE."
    return 1
}

# own_source: install the distribution's own source of a kernel.
own_source() {
    local source
    source=$(kernel_source)
    if [ -z "$source" ]; then
        # A fresh system has no lists yet.
        step "Updating the package lists" apt-get update || exit 1
        source=$(kernel_source)
    fi
    [ -n "$source" ] || die "The kernel of this host lacks what the lab needs" \
        "and apt knows no package linux-source-6.x to build another one." \
        "Name a binary of user-mode Linux: LAB_KERNEL=..."
    say "System packages that are missing: $source"
    _install_all "$source"
}

# kernel_source: the package with the source of a kernel, preferably of 6.12.
kernel_source() {
    local known
    known=$(apt-cache search --names-only '^linux-source-[67]\.[0-9.]+$' |
        awk '{ print $1 }' | sort -V)
    grep -x 'linux-source-6\.12' <<<"$known" || tail -n 1 <<<"$known"
}

# The mirror that apt uses on this machine for Debian itself.
mirror() {
    local found=
    if [ -n "${DEBIAN_MIRROR:-}" ]; then
        echo "$DEBIAN_MIRROR"
        return
    fi
    if command -v apt-get >/dev/null; then
        found=$(apt-get indextargets --format '$(REPO_URI)' \
            'Created-By: Packages' 'Origin: Debian' 'Label: Debian' \
            2>/dev/null | head -n 1)
    fi
    echo "${found:-http://deb.debian.org/debian}"
}
