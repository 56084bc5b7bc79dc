#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

# Shell library of tools/test, tools/quickstart and .ci/run: checks, system
# packages, the virtual environment.  A program sources this file, which
# changes to the root of the source tree.
#
#   . "$(dirname "$0")/lib.sh"
#   need_root "the lab makes network namespaces"
#   need_packages functional lab
#   need_venv                       # then "$PY" is its interpreter
#   step "Building" make -j2        # progress, the log only if it fails
#
# Environment: PYTHON      interpreter of the virtual environment
#              CONSTRAINTS pip constraints file (upper-constraints.txt)
#              SKIP_APT=1  leave the system packages as they are

set -u -o pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit 1
# PATH and PYTHONPATH have no way to quote a colon, and stestr gives the path to
# a shell between quotation marks.
case $ROOT in
*[:\"\$\`\\]*|*$'\n'*)
    printf '!! %s\n' "The path of the source tree, $ROOT, has one of : \" \$ \` \
\\ or a line break. Move the tree." >&2
    exit 1
    ;;
esac
# stestr gives the paths of its temporary files to a shell as they are.
case ${TMPDIR:-} in
*[!A-Za-z0-9_/.,+@%-]*) export TMPDIR=/tmp ;;
esac
VENV=$ROOT/.venv
PY=$VENV/bin/python
LOGS=$ROOT/build/log
MIN_PYTHON=3.11
REQUIREMENTS=(requirements.txt test-requirements.txt
    tools/style-requirements.txt doc/requirements.txt)
# Most tests start programs of ours.  A program that may not keep its compiled
# modules compiles 320 of them at each start: an agent then takes 1.7 s of the
# processor until it has its modules, not 0.7 s; in the lab 3.6 s, not 2.2 s.
unset PYTHONDONTWRITEBYTECODE
# Seconds between two signs of life of a step without a terminal.
HEARTBEAT=15

say() { printf '== %s\n' "$*"; }
warn() { printf '!! %s\n' "$*" >&2; }
die() { printf '!! %s\n' "$@" >&2; exit 1; }

# step TITLE COMMAND...: run the command quietly, and count the seconds on the
# screen.  A failed command is shown with the end of its output.
step() {
    local title=$1 log start next status=0
    shift
    mkdir -p "$LOGS"
    log=$LOGS/$(tr -cs 'A-Za-z0-9\n' - <<<"$title").log
    start=$SECONDS next=$HEARTBEAT
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    # A command in the background does not see Ctrl-C.
    trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM
    [ -t 1 ] || say "$title ..."
    while kill -0 "$pid" 2>/dev/null; do
        if [ -t 1 ]; then
            printf '\r== %s ... %d s ' "$title" $((SECONDS - start))
        elif [ $((SECONDS - start)) -ge "$next" ]; then
            say "$title ... $((SECONDS - start)) s"
            next=$((next + HEARTBEAT))
        fi
        sleep 0.2
    done
    wait "$pid" || status=$?
    trap - INT TERM
    [ ! -t 1 ] || printf '\r'
    if [ "$status" -eq 0 ]; then
        say "$title: done in $((SECONDS - start)) s "
    else
        warn "$title: failed with status $status; the end of $log:"
        tail -n 40 "$log" >&2
    fi
    return "$status"
}

# copy_tree DIRECTORY: the source tree as it is, with what is not committed.
copy_tree() {
    if git rev-parse HEAD >/dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard |
            while IFS= read -r -d '' file; do
                [ ! -e "$file" ] || printf '%s\0' "$file"
            done | tar -c --null -T - | tar -x -C "$1"
    else
        tar -c --exclude=./.venv --exclude=./build . | tar -x -C "$1"
    fi
}

# need_root WHY
need_root() {
    [ "$(id -u)" -eq 0 ] || die "This has to be run as root: $*."
}

# packages PROFILE...: names from bindep.txt with one of these profiles, or
# without arguments the names without a profile.
packages() {
    awk -v wanted=" $* " '
        /^[[:space:]]*(#|$)/ { next }
        {
            name = $1
            gsub(/.*\[|\].*/, "")
            n = split($0, words)
            profiles = 0; hit = 0
            for (i = 1; i <= n; i++)
                if (words[i] !~ /^platform:/) {
                    profiles++
                    if (index(wanted, " " words[i] " ")) hit = 1
                }
            if (hit || (wanted == "  " && !profiles)) print name
        }' bindep.txt | sort -u
}

# need_packages PROFILE...: install the missing system packages.
need_packages() {
    local name missing=()
    [ "${SKIP_APT:-}" != 1 ] || return 0
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null
    then
        die "This is not Debian or one of its kind: there is no apt-get." \
            "Install what bindep.txt lists by other means, then set SKIP_APT=1."
    fi
    for name in $(packages "$@"); do
        dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null |
            grep -qx installed || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "System packages that are missing: ${missing[*]}"
    [ "$(id -u)" -eq 0 ] || die "Run this as root, or first, as root:" \
        "apt-get update && apt-get install -y --no-install-recommends \\" \
        "    ${missing[*]}"
    _install_all "${missing[@]}"
}

_install_all() {
    _without_services _install "$@" || die \
        "The system packages could not be installed; the lines above say why." \
        "Install ${*} by other means, then set SKIP_APT=1."
}

# need_space MIB DIRECTORY WHY
need_space() {
    local free
    free=$(df --output=avail -m "$2" | tail -n 1)
    [ "$free" -ge "$1" ] || die "There are $((free)) MiB free in $2 of the" \
        "$1 that $3 needs. Make room there."
}

_install() {
    local apt=(apt-get -o DPkg::Lock::Timeout=300)
    export DEBIAN_FRONTEND=noninteractive
    step "Updating the package lists" "${apt[@]}" update || return
    step "Installing ${#} system packages" \
        "${apt[@]}" install -y --no-install-recommends "$@"
}

# Debian starts the services of installed packages.  A test machine needs their
# programs, but no running switch, routing daemon and databases.
_without_services() {
    local policy=/usr/sbin/policy-rc.d status=0
    if [ -e "$policy" ]; then
        "$@"
        return
    fi
    # shellcheck disable=SC2064
    trap "rm -f $policy" EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy" || return
    "$@" || status=$?
    rm -f "$policy"
    trap - EXIT
    return "$status"
}

# need_venv: make .venv or bring it up to date.  Unchanged requirements need no
# network.
need_venv() {
    local python=${PYTHON:-python3}
    [ -w . ] || die "$ROOT cannot be written to; the virtual environment and" \
        "the logs have their place there. Take a clone of your own."
    [ -x "$PY" ] || need_space 600 "$ROOT" "the virtual environment"
    command -v "$python" >/dev/null || die "There is no $python." \
        "Install Python $MIN_PYTHON or newer, or name one: PYTHON=..."
    "$python" - "$MIN_PYTHON" <<'PY' || exit 1
import sys
wanted = sys.argv[1]
if sys.version_info < tuple(int(part) for part in wanted.split('.')):
    sys.exit('!! %s is Python %s; %s or newer is needed. Name another one: '
             'PYTHON=...' % (sys.executable, sys.version.split()[0], wanted))
PY
    # A second tool may run at the same time.
    mkdir -p build
    exec 9>build/venv.lock
    flock 9
    _venv "$python" || exit 1
    exec 9>&-
}

_venv() {
    local deps project version
    version=$("$1" -c 'import sys; print(sys.version)')
    deps=$( (echo "$version"; cat "${REQUIREMENTS[@]}"
        [ -z "${CONSTRAINTS:-}" ] || cat "$CONSTRAINTS") | sha256sum)
    project=$(cat setup.cfg setup.py pyproject.toml | sha256sum)
    # The environment of a moved tree has the former paths.
    if ! "$PY" -c 'import sys; sys.exit(sys.prefix != sys.argv[1])' \
            "$VENV" 2>/dev/null || [ ! -x "$VENV/bin/pip" ]; then
        rm -rf "$VENV"
        step "Making the virtual environment" "$1" -m venv "$VENV" || return
    fi
    if [ "$(cat "$VENV/.deps" 2>/dev/null)" != "$deps" ]; then
        step "Installing the Python packages" \
            "$PY" -m pip install --disable-pip-version-check \
            ${CONSTRAINTS:+-c "$CONSTRAINTS"} "${REQUIREMENTS[@]/#/-r}" \
            "${SETUPTOOLS:-setuptools>=77}" wheel || return
        echo "$deps" >"$VENV/.deps"
        rm -f "$VENV/.project"
    fi
    if [ "$(cat "$VENV/.project" 2>/dev/null)" != "$project" ]; then
        _version
        step "Installing this package" \
            "$PY" -m pip install --disable-pip-version-check --no-deps \
            --no-build-isolation --no-index -e . || return
        echo "$project" >"$VENV/.project"
    fi
}

# pbr takes the version from git.  A tarball has no git, and git refuses a tree
# of another user.
_version() {
    if [ -z "${PBR_VERSION:-}" ] && [ ! -e PKG-INFO ] &&
            ! git rev-parse HEAD >/dev/null 2>&1; then
        export PBR_VERSION=0.0.1
    fi
}
