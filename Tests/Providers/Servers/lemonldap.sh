#!/bin/bash
# LemonLDAP::NG, a single sign-on portal in Perl: refresh tokens that stay the same, a consent
# page, log-out by redirect, no revocation. Its Ada's password is "ada": its demonstration has no
# other kind.
. "$(dirname "$0")/common.sh"

perl_has() {
    local module
    for module in "$@"; do perl -M"$module" -e1 2>/dev/null || return 1; done
}
# What the portal asks for and its package merely recommends.
if ! { has starman && perl_has Lemonldap::NG::Portal String::Random MIME::Entity \
    Email::Sender::Simple Convert::Base32; }; then
    install liblemonldap-ng-portal-perl starman libconvert-base32-perl \
        libcrypt-openssl-bignum-perl libio-string-perl libstring-random-perl libmime-tools-perl libemail-sender-perl
fi
has curl openssl python3 || install curl openssl python3
begin

mkdir -p conf sessions/lock psessions/lock notifications captcha cache
openssl genrsa -traditional -out signing.pem 2048 2>/dev/null
openssl rsa -in signing.pem -pubout -out signing.pub 2>/dev/null
sed "s|/var/lib/lemonldap-ng|$directory|g" /etc/lemonldap-ng/lemonldap-ng.ini >lemonldap-ng.ini
export SITE_BASE=$base SITE_CALLBACK=$callback SITE_GOODBYE=$goodbye SITE_LIFETIME=$lifetime
export BASIC_SECRET=$basic_secret POST_SECRET=$post_secret SERVICE_SECRET=$service_secret
python3 - <<'PYTHON'
import json, os

def text(name):
    with open(name) as file:
        return file.read()

environment, here = os.environ, os.getcwd()
known = text("/var/lib/lemonldap-ng/conf/lmConf-1.json").replace("/var/lib/lemonldap-ng", here)
settings = json.loads(known)
lifetime = int(environment["SITE_LIFETIME"])
settings.update({
    "cfgNum": 1, "portal": environment["SITE_BASE"] + "/", "domain": "127.0.0.1",
    "authentication": "Demo", "userDB": "Same", "securedCookie": 0, "requireToken": 0,
    "issuerDBOpenIDConnectActivation": 1, "skipRenewConfirmation": 1,
    "oidcServiceMetaDataIssuer": environment["SITE_BASE"],
    "oidcServicePrivateKeySig": text("signing.pem"), "oidcServicePublicKeySig": text("signing.pub"),
    "oidcServiceKeyIdSig": "signing", "oidcServiceAllowAuthorizationCodeFlow": 1,
    "oidcServiceAuthorizationCodeExpiration": 60, "oidcServiceIDTokenExpiration": lifetime,
    "oidcServiceAccessTokenExpiration": lifetime,
    "portalDisplayRegister": 0, "portalDisplayResetPassword": 0,
    "portalDisplayCertificateResetByMail": 0,
})
for name, secret in [("public-cli", None), ("basic-cli", "BASIC_SECRET"),
                     ("post-cli", "POST_SECRET"), ("service-cli", "SERVICE_SECRET")]:
    options = {
        "ClientID": name, "DisplayName": name, "RedirectUris": environment["SITE_CALLBACK"],
        "PostLogoutRedirectUris": environment["SITE_GOODBYE"], "LogoutBypassConfirm": 1,
        "IDTokenSignAlg": "RS256", "AccessTokenJWT": 1, "AccessTokenSignAlg": "RS256",
        "AccessTokenExpiration": lifetime, "RefreshToken": 1, "AllowOffline": 1,
        "BypassConsent": 0, "AllowClientCredentialsGrant": int(name == "service-cli"),
        "Public": int(secret is None), "RequirePKCE": int(secret is None),
    }
    if secret:
        options["ClientSecret"] = environment[secret]
    settings.setdefault("oidcRPMetaDataOptions", {})[name] = {
        "oidcRPMetaDataOptions" + key: value for key, value in options.items()}
    settings.setdefault("oidcRPMetaDataExportedVars", {})[name] = {"name": "cn"}
    for further in ["OptionsExtraClaims", "ScopeRules", "Macros"]:
        settings.setdefault("oidcRPMetaData" + further, {})[name] = {}
with open("conf/lmConf-1.json", "w") as file:
    json.dump(settings, file)
PYTHON
cat >portal.psgi <<'PERL'
# The portal loads its captcha even where that is off.
BEGIN { $INC{'GD/SecurityImage.pm'} = 1; }
use Plack::App::File;
use Plack::Builder;
use Lemonldap::NG::Portal;
use Lemonldap::NG::Portal::UserDB::Demo;
$Lemonldap::NG::Portal::UserDB::Demo::demoAccounts{ada} =
    { uid => 'ada', cn => 'Ada', mail => 'ada@example.test' };
my $portal = Lemonldap::NG::Portal->run({});
my $static = '/usr/share/lemonldap-ng/portal/htdocs/static';
builder {
    mount '/static' => Plack::App::File->new(root => $static)->to_app;
    mount '/' => $portal;
};
PERL
export LLNG_DEFAULTCONFFILE=$directory/lemonldap-ng.ini
serve starman --listen "127.0.0.1:$port" --workers 2 --preload-app portal.psgi
await "$base/.well-known/openid-configuration"
ready "$base"
