#!/bin/bash
# NanoIDP, a small provider in Python: any loopback port, rotation with family revocation, a
# device page that can refuse. Its access tokens live for a minute at least, so nothing here waits
# for one to expire.
. "$(dirname "$0")/common.sh"

has curl openssl || install curl openssl
python_environment nanoidp nanoidp==3.4.0
begin

mkdir -p config keys
cat >config/settings.yaml <<YAML
config_version: 1
server: {host: 127.0.0.1, port: $port}
oauth:
  issuer: $base
  audience: https://api.example.test/
  token_expiry_minutes: 5
  refresh_token_rotation: true
  require_pkce: true
  scopes_supported: [openid, profile, offline_access]
  dynamic_registration: {enabled: true}
  clients:
    - client_id: public-cli
      token_endpoint_auth_method: none
      redirect_uris: ["http://127.0.0.1/callback"]
    - client_id: device-cli
      token_endpoint_auth_method: none
      redirect_uris: ["http://127.0.0.1/callback"]
    - client_id: basic-cli
      client_secret: "$basic_secret"
      token_endpoint_auth_method: client_secret_basic
      redirect_uris: ["http://127.0.0.1/callback"]
    - client_id: post-cli
      client_secret: "$post_secret"
      token_endpoint_auth_method: client_secret_post
      redirect_uris: ["http://127.0.0.1/callback"]
    - client_id: service-cli
      client_secret: "$service_secret"
      token_endpoint_auth_method: client_secret_basic
      redirect_uris: ["http://127.0.0.1/callback"]
device_flow: {code_expiry_seconds: 600, polling_interval: 1}
jwt: {keys_dir: $directory/keys}
logging: {level: WARNING}
session: {enforce_password_check: true, secret_key: $(openssl rand -hex 32)}
YAML
cat >config/users.yaml <<YAML
config_version: 1
users:
  ada: {password: ada-password, email: ada@example.test, roles: [USER], tenant: default}
YAML

serve "$python" -m nanoidp --config config --host 127.0.0.1 --port "$port" --strict-config
await "$base/.well-known/openid-configuration"
ready "$base"
