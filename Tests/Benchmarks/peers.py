"""The proxies that are compared: how each is configured and started.

Every one has a single worker, keeps connections to the origin alive, writes no access log, streams
bodies without spooling them to disk, and sets one Authorization field on the way. Where a peer has
a setting that makes this workload cheaper, it is used.
"""

import base64
import json
import os
import pathlib
import re
import resource
import subprocess
import time

TOKEN = "bench-credential"
HELD_OPEN = "1h"  # idle timeouts, longer than any run
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # what a proxy may open


class Peer:
    """One proxy. `root` is the benchmark's private environment, `folder` the peer's own."""

    name = ""
    variables = {}

    def __init__(self, root: pathlib.Path, folder: pathlib.Path):
        self.root = root
        self.folder = folder / self.name
        self.folder.mkdir(parents=True, exist_ok=True)

    def version(self) -> str:
        raise NotImplementedError

    def command(self, port: int, origin: int) -> list[str]:
        """Writes the configuration, returns the command that serves `port` before `origin`."""
        raise NotImplementedError

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        return kept | self.variables


def said(command: list[str], pattern: str, variables: dict[str, str] | None = None) -> str:
    """What a version command says of itself."""
    result = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | (variables or {})
    )
    found = re.search(pattern, result.stdout + result.stderr)
    return found.group(1) if found else "unknown"


class Ours(Peer):
    name = "ours"

    def __init__(self, root, folder, binary: pathlib.Path):
        super().__init__(root, folder)
        self.binary = str(binary)

    def version(self):
        return said([self.binary, "version"], r"(\d\S*)")

    def credential(self) -> str:
        token = self.write("token", TOKEN + "\n")
        os.chmod(token, 0o600)
        return f"token: {{ file: {json.dumps(token)} }}"

    def command(self, port, origin):
        config = self.write(
            "proxy.yaml",
            f"""\
listen: ["127.0.0.1:{port}"]
upstream: http://127.0.0.1:{origin}
credential:
  {self.credential()}
workers: 1
state_dir: {json.dumps(str(self.folder / "state"))}
""",
        )
        return [self.binary, "serve", "--config", config]


class OursWithProofs(Ours):
    """A token that is bound to a key (RFC 9449): each request carries a signature of its own."""

    name = "ours-dpop"

    def credential(self):
        key = subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
            + ["-outform", "DER"],
            capture_output=True,
            check=True,
        ).stdout
        state = self.folder / "state"
        state.mkdir(mode=0o700, exist_ok=True)
        # A login as the proxy writes it, good until the API says otherwise.
        login = {
            "version": 1,
            "generation": 1,
            "client_id": "bench",
            "access_token": TOKEN,
            "token_type": "DPoP",
            "obtained_at": int(time.time()),
            "dpop_key": base64.urlsafe_b64encode(key).decode().rstrip("="),
        }
        record = pathlib.Path(self.write("state/default.json", json.dumps(login)))
        record.chmod(0o600)
        return """\
authorization_endpoint: https://provider.invalid/authorize
  token_endpoint: https://provider.invalid/token
  client_id: bench
  dpop: true"""


class Nginx(Peer):
    name = "nginx"

    def binary(self):
        return str(self.root / "debian/usr/sbin/nginx")

    def version(self):
        return said([self.binary(), "-v"], r"nginx/(\S+)")

    def command(self, port, origin):
        temporary = "\n".join(
            f"    {kind}_temp_path {self.folder}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        config = self.write(
            "nginx.conf",
            f"""\
daemon off;
worker_processes 1;
worker_rlimit_nofile {FILES};
pid {self.folder}/pid;
error_log {self.folder}/error.log;
events {{ worker_connections 12000; }}
http {{
    access_log off;
    server_tokens off;
    keepalive_timeout {HELD_OPEN};
    keepalive_requests 1000000000;
    client_max_body_size 0;
{temporary}
    upstream origin {{
        server 127.0.0.1:{origin};
        keepalive 256;
        keepalive_requests 1000000000;
        keepalive_timeout {HELD_OPEN};
    }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            proxy_pass http://origin;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Authorization "Bearer {TOKEN}";
            proxy_request_buffering off;
            proxy_max_temp_file_size 0;
        }}
    }}
}}
""",
        )
        errors = f"{self.folder}/error.log"
        return [self.binary(), "-p", str(self.folder), "-e", errors, "-c", config]


class HAProxy(Peer):
    name = "haproxy"

    def __init__(self, root, folder):
        super().__init__(root, folder)
        libraries = sorted({str(p.parent) for p in root.glob("debian/usr/lib/**/*.so*")})
        self.variables = {"LD_LIBRARY_PATH": ":".join(libraries)}

    def binary(self):
        return str(self.root / "debian/usr/sbin/haproxy")

    def version(self):
        return said([self.binary(), "-v"], r"version (\S+)", self.variables)

    def command(self, port, origin):
        config = self.write(
            "haproxy.cfg",
            f"""\
global
    nbthread 1
    maxconn 12000
    ulimit-n {FILES}
    no strict-limits

defaults
    mode http
    timeout connect 5s
    timeout client {HELD_OPEN}
    timeout server {HELD_OPEN}
    timeout http-keep-alive {HELD_OPEN}
    http-reuse always
    backlog 4096

frontend entry
    bind 127.0.0.1:{port}
    http-request set-header Authorization "Bearer {TOKEN}"
    default_backend origin

backend origin
    server origin 127.0.0.1:{origin}
""",
        )
        return [self.binary(), "-db", "-f", config]


class Envoy(Peer):
    name = "envoy"

    def binary(self):
        return str(next(self.root.glob("python/lib/python*/site-packages/envoy/_bin/envoy")))

    def version(self):
        return said([self.binary(), "--version"], r"/(\d+\.\d+\.\d+)/")

    def command(self, port, origin):
        def typed(name: str, **fields):
            return {"@type": f"type.googleapis.com/{name}", **fields}

        def address(number: int):
            return {"socket_address": {"address": "127.0.0.1", "port_value": number}}

        filters = "envoy.extensions.filters"
        injector = typed(
            f"{filters}.http.credential_injector.v3.CredentialInjector",
            overwrite=True,
            credential={
                "name": "envoy.http.injected_credentials.generic",
                "typed_config": typed(
                    "envoy.extensions.http.injected_credentials.generic.v3.Generic",
                    credential={"name": "credential"},
                ),
            },
        )
        manager = typed(
            f"{filters}.network.http_connection_manager.v3.HttpConnectionManager",
            stat_prefix="entry",
            codec_type="HTTP1",
            generate_request_id=False,
            route_config={
                "virtual_hosts": [
                    {
                        "name": "all",
                        "domains": ["*"],
                        "routes": [
                            {
                                "match": {"prefix": "/"},
                                "route": {"cluster": "origin", "timeout": "0s"},
                            }
                        ],
                    }
                ]
            },
            http_filters=[
                {"name": "envoy.filters.http.credential_injector", "typed_config": injector},
                {
                    "name": "envoy.filters.http.router",
                    "typed_config": typed(f"{filters}.http.router.v3.Router"),
                },
            ],
        )
        secret = {
            "name": "credential",
            "generic_secret": {"secret": {"inline_string": f"Bearer {TOKEN}"}},
        }
        cluster = {
            "name": "origin",
            "type": "STATIC",
            "connect_timeout": "5s",
            "load_assignment": {
                "cluster_name": "origin",
                "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address(origin)}}]}],
            },
        }
        listener = {
            "name": "entry",
            "address": address(port),
            "tcp_backlog_size": 4096,
            "filter_chains": [
                {
                    "filters": [
                        {
                            "name": "envoy.filters.network.http_connection_manager",
                            "typed_config": manager,
                        }
                    ]
                }
            ],
        }
        config = self.write(
            "envoy.json",
            json.dumps(
                {
                    "static_resources": {
                        "secrets": [secret],
                        "listeners": [listener],
                        "clusters": [cluster],
                    }
                },
                indent=2,
            ),
        )
        quiet = ["--log-level", "error", "--disable-hot-restart"]
        return [self.binary(), "-c", config, "--concurrency", "1", *quiet]


class Caddy(Peer):
    name = "caddy"
    variables = {"GOMAXPROCS": "1"}

    def __init__(self, root, folder):
        super().__init__(root, folder)
        state = str(self.folder)
        self.variables = self.variables | {"XDG_DATA_HOME": state, "XDG_CONFIG_HOME": state}

    def binary(self):
        return str(self.root / "python/bin/caddy")

    def version(self):
        return said([self.binary(), "version"], r"v(\S+)")

    def command(self, port, origin):
        config = self.write(
            "Caddyfile",
            f"""\
{{
    admin off
    auto_https off
    persist_config off
    log {{
        level ERROR
    }}
    servers {{
        protocols h1
    }}
}}
http://:{port} {{
    bind 127.0.0.1
    reverse_proxy 127.0.0.1:{origin} {{
        header_up Authorization "Bearer {TOKEN}"
        transport http {{
            keepalive {HELD_OPEN}
            keepalive_idle_conns_per_host 256
            compression off
        }}
    }}
}}
""",
        )
        return [self.binary(), "run", "--adapter", "caddyfile", "--config", config]


class Go(Peer):
    name = "go"
    variables = {"GOMAXPROCS": "1"}

    def version(self):
        return said(["go", "version"], r"go(\d\S*)")

    def command(self, port, origin):
        upstream = f"http://127.0.0.1:{origin}"
        return [str(self.root / "bin/reverseproxy"), f"127.0.0.1:{port}", upstream, TOKEN]


PEERS = {peer.name: peer for peer in (Ours, OursWithProofs, Nginx, HAProxy, Envoy, Caddy, Go)}
