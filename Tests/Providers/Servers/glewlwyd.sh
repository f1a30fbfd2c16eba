#!/bin/bash
# Glewlwyd, a provider in C: access tokens of any lifetime, rotation with family revocation, exact
# redirect URIs, refusals without a body. It serves three issuers with one set of people and
# clients: /api/oidc; /api/pushed, which takes pushed authorization requests only; and /api/bound,
# which demands nonces in DPoP proofs.
. "$(dirname "$0")/common.sh"

if ! has glewlwyd rnbyc; then
    # Without this answer the package asks for a database server and fails.
    echo "glewlwyd glewlwyd/config_type select No configuration" | as_root debconf-set-selections
    install glewlwyd dbconfig-no-thanks rnbyc
fi
has sqlite3 curl openssl python3 || install sqlite3 curl openssl python3
begin

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
openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out client-rsa.pem
openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out client-ec.pem
openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out stranger.pem
for kind in rsa ec; do
    openssl pkey -in client-$kind.pem -pubout -out client-$kind.pub
done
rnbyc -j -f client-rsa.pub -k client-rsa -a RS256 -f client-ec.pub -k client-ec -a ES256 -n 0 \
    -o client.jwks >/dev/null

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
# Clients may be told where a browser goes after a logout, and that their tokens must be bound.
call GET /mod/client/database </dev/null
python3 -c 'import json
module = json.load(open("answer"))
known = module["parameters"]["data-format"]
known["post_logout_redirect_uris"] = {"multiple": True, "read": True, "write": True}
known["dpop_bound"] = {"multiple": False, "read": True, "write": True}
print(json.dumps(module))' >module.json
call PUT /mod/client/database <module.json
call PUT /mod/client/database/reset/ <<<'{}'
scopes='"openid", "profile", "offline_access", "api.read"'
for scope in profile offline_access api.read; do
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

# issuer NAME FURTHER_PARAMETERS
issuer() {
    call POST /mod/plugin/ <<JSON
{"module": "oidc", "name": "$1", "display_name": "$1", "enabled": true, "parameters": {
 "iss": "$base/api/$1", "jwks-private": "$keys", "default-kid": "key-1", "jwks-show": true,
 "jwt-type": "rsa", "jwt-key-size": "256",
 "access-token-duration": $lifetime, "refresh-token-duration": 86400, "code-duration": 60,
 "refresh-token-rolling": false, "refresh-token-one-use": "always",
 "auth-type-code-enabled": true, "auth-type-refresh-enabled": true,
 "auth-type-token-enabled": false, "auth-type-id-token-enabled": true,
 "auth-type-client-enabled": true, "auth-type-device-enabled": true,
 "auth-type-password-enabled": false, "auth-type-none-enabled": false,
 "auth-type-code-revoke-replayed": true, "allow-non-oidc": true,
 "device-authorization-expiration": 600, "device-authorization-interval": 1,
 "pkce-allowed": true, "pkce-method-plain-allowed": false, "pkce-required-public-client": true,
 "oauth-as-iss-id": true, "introspection-revocation-allowed": true,
 "introspection-revocation-allow-target-client": true,
 "register-client-allowed": true, "register-client-auth-scope": [],
 "register-client-credentials-scope": ["api.read"],
 "session-management-allowed": true, "session-cookie-name": "GLEWLWYD_OIDC_$1",
 "session-cookie-expiration": 86400,
 "request-parameter-allow": true, "request-maximum-exp": 300,
 "client-jwks-parameter": "jwks", "client-pubkey-parameter": "pubkey",
 "oauth-par-allowed": true, "oauth-par-duration": 90,
 "oauth-par-request_uri-prefix": "urn:ietf:params:oauth:request_uri:",
 "oauth-dpop-allowed": true, "oauth-dpop-iat-duration": 60, "oauth-dpop-iat-gap-duration": 10,
 "oauth-dpop-dpop_bound_access_tokens-property": "dpop_bound",
 "subject-type": "public", "name-claim": "on-demand", "name-claim-scope": ["profile"],
 "email-claim": "no", "scope-claim": "no", $2}}
JSON
}
issuer oidc '"oauth-par-required": false'
issuer pushed '"oauth-par-required": true'
issuer bound '"oauth-dpop-nonce-mandatory": true, "oauth-dpop-nonce-counter": 3'

# client NAME CONFIDENTIAL METHOD GRANTS [FURTHER MEMBERS,]
client() {
    call POST /client/ <<JSON
{"client_id": "$1", "name": "$1", "enabled": true, "confidential": $2, ${5:-}
 "redirect_uri": ["$callback"], "post_logout_redirect_uris": ["$goodbye"], "scope": [$scopes],
 "token_endpoint_auth_method": ["$3"], "authorization_type": [$4]}
JSON
}
person='"code", "refresh_token", "delete_token"'
client public-cli false none "$person"
client device-cli false none "\"device_authorization\", $person"
client basic-cli true client_secret_basic "$person" "\"client_secret\": \"$basic_secret\","
client post-cli true client_secret_post "$person" "\"client_secret\": \"$post_secret\","
client service-cli true client_secret_basic '"client_credentials", "delete_token"' \
    "\"client_secret\": \"$service_secret\","
client key-cli true private_key_jwt "\"client_credentials\", $person" \
    "\"jwks\": $(cat client.jwks),"

ready "$base/api/oidc"
