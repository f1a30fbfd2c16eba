#!/bin/bash
# Apache with mod_oauth2, a resource server that takes bound tokens of one issuer and checks each
# proof by itself. Not a provider:
#     apache.sh DIRECTORY PORT JWKS_URI
. "$(dirname "$0")/common.sh"
jwks=${3:-}

modules=/usr/lib/apache2/modules
[ -e $modules/mod_oauth2.so ] || install apache2-bin libapache2-mod-oauth2
has curl || install curl
begin

mkdir -p site/api
echo '{"served": true}' >site/api/thing
# As root it gives its privileges up, and must still get here.
chmod -R a+rX site
chmod a+rwx .
cat >apache.conf <<CONF
ServerName 127.0.0.1
ServerRoot $directory
Listen 127.0.0.1:$port
PidFile $directory/apache.pid
Mutex file:$directory
ErrorLog $directory/error.log
User nobody
Group nogroup
DocumentRoot $directory/site
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authn_core_module $modules/mod_authn_core.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule authz_user_module $modules/mod_authz_user.so
LoadModule oauth2_module $modules/mod_oauth2.so
<Location /api/>
    AuthType oauth2
    OAuth2TokenVerify jwks_uri $jwks jwks_uri.ssl_verify=false&type=dpop
    OAuth2AcceptTokenIn header name=Authorization&type=DPoP
    Require valid-user
</Location>
CONF

serve apache2 -f "$directory/apache.conf" -DFOREGROUND
for _ in $(seq 100); do
    if [ "$(curl -s -o /dev/null -w '%{http_code}' "$base/api/thing")" = 401 ]; then
        ready "$base"
        exit
    fi
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
done
echo "the server did not start:" >&2
tail -20 server.log error.log >&2
exit 1
