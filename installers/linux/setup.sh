#!/usr/bin/env bash
# Sets Hearth up in this folder on Debian or Ubuntu. Called by the Makefile, which skips what its stamps say is done:
#   setup.sh system   run|test|package   system libraries and programs, by apt
#   setup.sh packages run|test|package   the virtual environment and its Python packages, by pip
#   setup.sh libraries                   the libraries that a package of Hearth needs of the system, and who has them
# For packages the environment is one of its own, build/venv, which has nothing that is not shipped but what builds them.
set -euo pipefail
cd "$(dirname "$0")/../.."
VENV=.venv
if [ "${2:-}" = package ]; then VENV=build/venv; fi
readonly VENV

say() { printf 'hearth: %s\n' "$*" >&2; }

# The first Python that is new enough.
find_python() {
    local name
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    say "Python 3.11 or newer is needed and was not found. Install it (for example: apt-get install python3) and run this again."
    return 1
}

# What Qt's xcb and Wayland plugins, and Qt itself, load from the system; the rest comes with PySide6.
libraries() {
    cat <<'LIST'
libEGL.so.1 libegl1
libGL.so.1 libgl1
libX11-xcb.so.1 libx11-xcb1
libdbus-1.so.3 libdbus-1-3
libfontconfig.so.1 libfontconfig1
libglib-2.0.so.0 libglib2.0-0
libgssapi_krb5.so.2 libgssapi-krb5-2
libwayland-client.so.0 libwayland-client0
libwayland-cursor.so.0 libwayland-cursor0
libxcb-cursor.so.0 libxcb-cursor0
libxcb-glx.so.0 libxcb-glx0
libxcb-icccm.so.4 libxcb-icccm4
libxcb-image.so.0 libxcb-image0
libxcb-keysyms.so.1 libxcb-keysyms1
libxcb-randr.so.0 libxcb-randr0
libxcb-render-util.so.0 libxcb-render-util0
libxcb-render.so.0 libxcb-render0
libxcb-shape.so.0 libxcb-shape0
libxcb-shm.so.0 libxcb-shm0
libxcb-sync.so.1 libxcb-sync1
libxcb-util.so.1 libxcb-util1
libxcb-xfixes.so.0 libxcb-xfixes0
libxcb-xkb.so.1 libxcb-xkb1
libxkbcommon-x11.so.0 libxkbcommon-x11-0
libxkbcommon.so.0 libxkbcommon0
LIST
}

# Debian packages that are missing for `run`, `test` or `package`, one a line.
missing() {
    local known library package program
    known=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p)
    "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null ||
        "$PYTHON" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'
    while read -r library package; do
        [[ $known == *"$library "* ]] || echo "$package"
    done < <(libraries)
    dpkg-query -W -f '${Status}' fonts-inter 2>/dev/null | grep -q 'ok installed' || echo fonts-inter
    if [ "$1" = test ]; then
        [ -e /usr/libexec/at-spi-bus-launcher ] || [ -e /usr/lib/at-spi2-core/at-spi-bus-launcher ] || echo at-spi2-core
        while read -r program package; do
            PATH=$PATH:/sbin:/usr/sbin command -v "$program" >/dev/null || echo "$package"
        done <<'LIST'
Xvfb xvfb
openbox openbox
trayer trayer
xdotool xdotool
sway sway
wtype wtype
ip iproute2
nft nftables
dbus-daemon dbus
mosquitto mosquitto
redis-server redis-server
pg_ctlcluster postgresql
zstd zstd
LIST
    elif [ "$1" = package ]; then
        while read -r program package; do
            PATH=$PATH:/sbin:/usr/sbin command -v "$program" >/dev/null || echo "$package"
        done <<'LIST'
git git
debootstrap debootstrap
systemd-nspawn systemd-container
objdump binutils
dpkg-deb dpkg
zstd zstd
LIST
        "$PYTHON" -c 'import sys, sysconfig as s, pathlib as p
lib = p.Path(s.get_config_var("LIBDIR"), s.get_config_var("INSTSONAME"))
sys.exit(not (lib.is_file() or p.Path("/usr/lib", s.get_config_var("MULTIARCH") or "", lib.name).is_file()))' ||
            "$PYTHON" -c 'import sys; print("libpython%d.%d" % sys.version_info[:2])'
    fi
}

# Runs a command as root; fails if that is not possible.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif ! command -v sudo >/dev/null; then
        return 1
    elif sudo -n true 2>/dev/null; then
        sudo -n "$@"
    elif [ -t 0 ]; then
        say "sudo may ask for your password, to install these packages and for nothing else."
        sudo "$@"
    else
        return 1
    fi
}

install_system() {
    local packages
    mapfile -t packages < <(missing "$1")
    if [ ${#packages[@]} -gt 0 ]; then
        say "system packages needed: ${packages[*]}"
        local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120)
        if command -v apt-get >/dev/null && as_root "${apt[@]}" update; then
            as_root "${apt[@]}" install -y --no-install-recommends "${packages[@]}" || true
        fi
        mapfile -t packages < <(missing "$1")
    fi
    if [ ${#packages[@]} -gt 0 ]; then
        say "these system packages are still missing. Please install them:"
        say "    sudo apt-get update && sudo apt-get install ${packages[*]}"
        say "(without sudo: the same as root.) Going on as far as possible without them."
        return
    fi
    mkdir -p "$VENV"
    touch "$VENV/.system-run" "$VENV/.system-$1"
}

install_packages() {
    local wanted=.
    if [ "$1" = test ]; then wanted=".[dev]"; fi
    if [ "$1" = package ]; then wanted=".[postgresql,redis] -r installers/requirements.txt"; fi
    if ! "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
        say "creating the virtual environment $VENV with $("$PYTHON" --version)"
        "$PYTHON" -m venv "$VENV"
    fi
    say "installing the Python packages (about 1.5 GB, some minutes the first time)"
    # shellcheck disable=SC2086 # for packages these are several words
    "$VENV/bin/python" -m pip install -c constraints.txt -e $wanted
    "$VENV/bin/python" -m compileall -q app core # half a second less until the first window
    touch "$VENV/.packages-run" "$VENV/.packages-$1"
}

if [ "$1" = libraries ]; then
    libraries
    exit
fi
PYTHON=$(find_python)
case "$1" in
    system) install_system "$2" ;;
    packages) install_packages "$2" ;;
esac
