# Shared by the scripts that start real providers. Each is called as
#     NAME.sh DIRECTORY PORT CALLBACK_PORT ACCESS_TOKEN_SECONDS
# keeps all its files in DIRECTORY, listens on 127.0.0.1:PORT only, prints "ready ISSUER" when it
# can be used, and runs until it is told to stop; `NAME.sh --install` only installs. What it must
# install comes from the system's and Python's package registries by name. The person at all of them
# is Ada, whose password is ada-password.
set -euo pipefail

directory=$1
port=${2:-0}
callback_port=${3:-0}
lifetime=${4:-300}
base=http://127.0.0.1:$port
callback=http://127.0.0.1:$callback_port/callback
goodbye=http://127.0.0.1:$callback_port/goodbye

# The clients' secrets. Those of Basic have no letter that form-encoding changes, since not all of
# the servers undo it, as RFC 6749 section 2.3.1 asks.
basic_secret=canary-secret.for_basic~
post_secret='canary:secret+for/%&='
service_secret=canary-secret.for_service~

# Every request goes straight to this machine, except those of the package managers.
straight() {
    unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
}

# install PACKAGE…: Debian packages.
install() {
    echo "installing $*" >&2
    as_root apt-get update -q >&2
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -o DPkg::Lock::Timeout=120 install -y -q --no-install-recommends "$@" >&2
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# has PROGRAM…: whether all of them are there.
has() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || return 1
    done
}

# python_environment NAME REQUIREMENT…: sets `python` to the interpreter of an environment with
# these packages, which is kept in PROVIDERS_CACHE for the next time.
python_environment() {
    local home=${PROVIDERS_CACHE:-/tmp/credential-proxy-providers-$(id -u)} name=$1
    shift
    cache=$home/$name
    python=$cache/bin/python
    # What is compiled stays there too, and not beside our own sources.
    export PYTHONPYCACHEPREFIX=$cache/compiled
    if [ "$(cat "$cache/complete" 2>/dev/null)" != "$*" ]; then
        python3 -c 'import ensurepip' 2>/dev/null || install python3 python3-venv
        rm -rf "$cache"
        mkdir -p "$home"
        # One pip serves all environments; compiling is left to the modules' first use.
        flock "$home" sh -c '[ -x "$1/pip/bin/pip" ] || python3 -m venv "$1/pip"' venv "$home"
        python3 -m venv --without-pip "$cache"
        "$home/pip/bin/python" -m pip --python "$python" install -q --disable-pip-version-check \
            --no-compile "$@" >&2
        echo "$*" >"$cache/complete"
    fi
}

# To be called when everything is installed.
begin() {
    [ "$directory" != --install ] || exit 0
    straight
    mkdir -p "$directory"
    cd "$directory"
    directory=$PWD
}

# serve COMMAND…: runs the server, and stops it when this script is stopped.
serve() {
    "$@" >"$directory/server.log" 2>&1 </dev/null &
    server=$!
    trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
    trap 'exit 0' TERM INT HUP
}

# await URL: until it answers, or the server has ended.
await() {
    for _ in $(seq 600); do
        curl -fsS -o /dev/null "$1" 2>/dev/null && return
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    echo "the server did not start:" >&2
    tail -20 "$directory/server.log" >&2
    exit 1
}

# ready ISSUER: to be called last. Runs until the server ends, or whoever started this script.
ready() {
    echo "ready $1"
    while kill -0 "$server" 2>/dev/null && kill -0 "$PPID" 2>/dev/null; do
        sleep 1 &
        wait $!
    done
}
