#!/bin/bash
# Glewlwyd, a provider in C: access tokens of any lifetime, rotation with family revocation, exact
# redirect URIs, refusals without a body.
#     glewlwyd.sh DIRECTORY PORT CALLBACK_URI ACCESS_TOKEN_SECONDS
. "$(dirname "$0")/common.sh"

callback=$3
lifetime=$4

if ! has glewlwyd rnbyc; then
    # Without this answer the package asks for a database server and fails.
    root=()
    [ "$(id -u)" = 0 ] || root=(sudo)
    echo "glewlwyd glewlwyd/config_type select No configuration" |
        "${root[@]}" debconf-set-selections
    install glewlwyd dbconfig-no-thanks rnbyc
fi
has sqlite3 curl || install sqlite3 curl

cd "$directory"
zcat /usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz | sqlite3 glewlwyd.db
mkdir -p webapp
cp -rL /usr/share/glewlwyd/webapp/. webapp 2>/dev/null || true
# The package's own config.json there is a broken link.
rm -rf webapp/config.json
cp /usr/share/glewlwyd/templates/config.json webapp/config.json
zcat /usr/share/doc/glewlwyd/glewlwyd.conf.sample.gz |
    sed -e "s|^port=.*|port=$port|" \
        -e 's|^#bind_address=.*|bind_address="127.0.0.1"|' \
        -e "s|^external_url=.*|external_url=\"$base\"|" \
        -e "s|^static_files_path=.*|static_files_path=\"$PWD/webapp/\"|" \
        -e 's|^cookie_domain=.*|cookie_domain="127.0.0.1"|' \
        -e 's|^cookie_secure=.*|cookie_secure=0|' \
        -e 's|^log_level=.*|log_level="WARNING"|' \
        -e "s|/var/cache/glewlwyd/glewlwyd.db|$PWD/glewlwyd.db|" >glewlwyd.conf
rnbyc -j -g RSA2048 -k key-1 -a RS256 -o keys.jwks -p /dev/null >/dev/null

serve glewlwyd --config-file=glewlwyd.conf
await "$base/config/"

# call METHOD PATH: the administration interface, with the body from standard input.
call() {
    curl -sS --fail-with-body -o answer -b cookies -c cookies -X "$1" \
        -H 'Content-Type: application/json' --data-binary @- "$base/api$2" || {
        echo "$1 $2 was refused: $(cat answer)" >&2
        exit 1
    }
}

call POST /auth/ <<<'{"username": "admin", "password": "password"}'
scopes='"openid", "profile", "offline_access"'
for scope in profile offline_access; do
    call POST /scope/ <<JSON
{"name": "$scope", "display_name": "$scope", "description": "$scope", "password_required": true,
 "password_max_age": 0, "scheme": {}}
JSON
done
call POST /user/ <<JSON
{"username": "ada", "password": "ada-password", "name": "Ada", "email": "ada@example.test",
 "scope": [$scopes], "enabled": true}
JSON
keys=$(tr -d '\n' <keys.jwks | sed 's/[\\"]/\\&/g')
call POST /mod/plugin/ <<JSON
{"module": "oidc", "name": "oidc", "display_name": "oidc", "enabled": true, "parameters": {
 "iss": "$base/api/oidc", "jwks-private": "$keys", "default-kid": "key-1", "jwks-show": true,
 "jwt-type": "rsa", "jwt-key-size": "256",
 "access-token-duration": $lifetime, "refresh-token-duration": 86400, "code-duration": 60,
 "refresh-token-rolling": false, "refresh-token-one-use": "always",
 "auth-type-code-enabled": true, "auth-type-refresh-enabled": true,
 "auth-type-token-enabled": false, "auth-type-id-token-enabled": true,
 "auth-type-client-enabled": false, "auth-type-device-enabled": false,
 "auth-type-password-enabled": false, "auth-type-none-enabled": false,
 "auth-type-code-revoke-replayed": true, "allow-non-oidc": true,
 "pkce-allowed": true, "pkce-method-plain-allowed": false, "pkce-required-public-client": true,
 "oauth-as-iss-id": true, "introspection-revocation-allowed": true,
 "introspection-revocation-allow-target-client": true,
 "subject-type": "public", "name-claim": "on-demand", "name-claim-scope": ["profile"],
 "email-claim": "no", "scope-claim": "no"}}
JSON

# client NAME CONFIDENTIAL METHOD [SECRET MEMBER]
client() {
    call POST /client/ <<JSON
{"client_id": "$1", "name": "$1", "enabled": true, "confidential": $2, ${4:-}
 "redirect_uri": ["$callback"], "scope": [$scopes], "token_endpoint_auth_method": ["$3"],
 "authorization_type": ["code", "refresh_token", "delete_token"]}
JSON
}
client public-cli false none
client basic-cli true client_secret_basic '"client_secret": "canary-secret.for_basic~",'
client post-cli true client_secret_post '"client_secret": "canary:secret+for/%&=",'

echo "ready $base/api/oidc"
wait "$server"
