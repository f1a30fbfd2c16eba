#!/bin/bash
# Django OAuth Toolkit, the provider of many Django sites: opaque tokens, an issuer with a path, two
# metadata documents that differ, a consent page with a button to refuse, `iss` in its answers.
. "$(dirname "$0")/common.sh"

scripts=$(cd "$(dirname "$0")" && pwd)
has curl openssl || install curl openssl
# Its release 3.4.1 answers 500 to device requests with the next release of oauthlib.
python_environment dot django-oauth-toolkit==3.4.1 oauthlib==3.3.1 gunicorn==23.0.0
begin

openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out signing.pem
export SITE_BASE=$base SITE_LIFETIME=$lifetime SITE_CALLBACK=$callback SITE_GOODBYE=$goodbye
export BASIC_SECRET=$basic_secret POST_SECRET=$post_secret SERVICE_SECRET=$service_secret
export PYTHONPATH=$scripts
# The empty database is always the same, and takes longest to make.
template=$cache/empty.sqlite3
if [ ! -e "$template" ]; then
    "$python" -c 'import dot_site; dot_site.create()' >&2
    mv site.sqlite3 "$template"
fi
cp "$template" site.sqlite3
"$python" -c 'import dot_site; dot_site.fill()' >&2

serve "$python" -m gunicorn --bind "127.0.0.1:$port" --workers 1 --threads 8 --log-level warning \
    dot_site:application
await "$base/o/.well-known/openid-configuration"
ready "$base/o"
