#!/bin/bash
# Canaille, an identity server on Authlib: a consent page, exact redirect URIs, JWT bearer grants
# whose statements it signs itself, client assertions with the code grant.
. "$(dirname "$0")/common.sh"

scripts=$(cd "$(dirname "$0")" && pwd)
has curl openssl || install curl openssl
python_environment canaille 'canaille[server,oidc,front,sqlite]==0.3.6' authlib==1.8.0
begin

openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out signing.pem
openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out client-rsa.pem
export SITE_PORT=$port SITE_CALLBACK=$callback SITE_GOODBYE=$goodbye
export BASIC_SECRET=$basic_secret SERVICE_SECRET=$service_secret
export PYTHONPATH=$scripts AUTHLIB_INSECURE_TRANSPORT=1

serve "$python" -m canaille_site
await "$base/.well-known/openid-configuration"
ready "$base"
