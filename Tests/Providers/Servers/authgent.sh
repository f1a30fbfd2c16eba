#!/bin/bash
# Authgent, a young server for programs that act for people: token exchange and DPoP. It has no
# page to sign in, and makes up its clients' names; clients.json says them.
. "$(dirname "$0")/common.sh"

has curl openssl || install curl openssl
python_environment authgent authgent-server==0.3.4
begin

export AUTHGENT_HOST=127.0.0.1 AUTHGENT_PORT=$port AUTHGENT_SERVER_URL=$base
export AUTHGENT_SECRET_KEY=$(openssl rand -hex 32) AUTHGENT_CONSENT_MODE=ui
export AUTHGENT_DATABASE_URL=sqlite+aiosqlite:///$directory/server.sqlite3
export AUTHGENT_ACCESS_TOKEN_TTL=$lifetime
export AUTHGENT_TOKEN_RATE_LIMIT=100000 AUTHGENT_REGISTER_RATE_LIMIT=100000

serve "$(dirname "$python")/authgent-server" run --host 127.0.0.1 --port "$port"
await "$base/.well-known/oauth-authorization-server"

# client NAME METHOD GRANTS: keeps what the server answers.
client() {
    curl -sS --fail-with-body -o "$1.json" -H 'Content-Type: application/json' \
        --data-binary @- "$base/register" <<JSON
{"client_name": "$1", "token_endpoint_auth_method": "$2", "grant_types": [$3],
 "redirect_uris": ["$callback"], "scope": "openid profile offline_access api.read api.write"}
JSON
}
grants=urn:ietf:params:oauth:grant-type
client public-cli none '"authorization_code", "refresh_token"'
client service-cli client_secret_basic "\"client_credentials\", \"$grants:token-exchange\""
ready "$base"
