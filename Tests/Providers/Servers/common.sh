# Shared by the scripts that start real providers. Each is called as
#     NAME.sh DIRECTORY PORT …
# keeps all its files in DIRECTORY, listens on 127.0.0.1:PORT only, prints "ready ISSUER" when it
# can be used, and runs until it is told to stop. What it must install comes from the system's and
# Python's package registries by name.
set -euo pipefail

directory=$1
port=$2
base=http://127.0.0.1:$port
mkdir -p "$directory"

# Every request goes straight to this machine.
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

# install PACKAGE…: Debian packages.
install() {
    local root=()
    [ "$(id -u)" = 0 ] || root=(sudo)
    echo "installing $*" >&2
    "${root[@]}" apt-get update -q >&2
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends "$@" >&2
}

# has PROGRAM…: whether all of them are there.
has() {
    command -v "$@" >/dev/null
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
    for _ in $(seq 300); do
        curl -fsS -o /dev/null "$1" 2>/dev/null && return
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    echo "the server did not start:" >&2
    tail -20 "$directory/server.log" >&2
    exit 1
}
