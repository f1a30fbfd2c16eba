#!/bin/bash
# NanoIDP, a small provider in Python: any loopback port, rotation with family revocation. Its access
# tokens live for a minute at least, so nothing here waits for one to expire.
#     nanoidp.sh DIRECTORY PORT
# The environment with its packages is kept in PROVIDERS_CACHE for the next time.
. "$(dirname "$0")/common.sh"

cache=${PROVIDERS_CACHE:-$directory/cache}
python=$cache/nanoidp/bin/python
if [ ! -x "$cache/nanoidp/bin/nanoidp" ]; then
    { has python3 && python3 -c 'import ensurepip' 2>/dev/null; } || install python3 python3-venv
    has curl openssl || install curl openssl
    rm -rf "$cache/nanoidp"
    mkdir -p "$cache"
    python3 -m venv "$cache/nanoidp"
    "$python" -m pip install -q --disable-pip-version-check nanoidp==3.4.0 >&2
fi

mkdir -p "$directory/config" "$directory/keys"
cat >"$directory/config/settings.yaml" <<YAML
config_version: 1
server: {host: 127.0.0.1, port: $port}
oauth:
  issuer: $base
  audience: https://api.example.test/
  token_expiry_minutes: 5
  refresh_token_rotation: true
  require_pkce: true
  scopes_supported: [openid, profile, offline_access]
  clients:
    - client_id: public-cli
      token_endpoint_auth_method: none
      redirect_uris: ["http://127.0.0.1/callback"]
    - client_id: basic-cli
      client_secret: "canary-secret.for_basic~"
      token_endpoint_auth_method: client_secret_basic
      redirect_uris: ["http://127.0.0.1/callback"]
    - client_id: post-cli
      client_secret: "canary:secret+for/%&="
      token_endpoint_auth_method: client_secret_post
      redirect_uris: ["http://127.0.0.1/callback"]
jwt: {keys_dir: $directory/keys}
logging: {level: WARNING}
session: {enforce_password_check: true, secret_key: $(openssl rand -hex 32)}
YAML
cat >"$directory/config/users.yaml" <<YAML
config_version: 1
users:
  ada: {password: ada-password, email: ada@example.test, roles: [USER], tenant: default}
YAML

serve "$python" -m nanoidp --config "$directory/config" --host 127.0.0.1 --port "$port" \
    --strict-config
await "$base/.well-known/openid-configuration"
echo "ready $base"
wait "$server"
