"""Canaille with Ada and our clients. For tests only; canaille.sh runs it in an empty directory and
says the rest in the environment.
"""
import datetime
import json
import os

import canaille
from joserfc.jwk import RSAKey
from werkzeug.serving import run_simple

PORT, HERE = int(os.environ["SITE_PORT"]), os.getcwd()
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


def key(name, private):
    parameters = {"kid": name, "alg": "RS256", "use": "sig"}
    with open(f"{HERE}/{name}.pem") as file:
        return RSAKey.import_key(file.read(), parameters).as_dict(private=private)


application = canaille.create_app(
    {
        "SECRET_KEY": "of this test alone",
        "SERVER_NAME": f"127.0.0.1:{PORT}",
        "PREFERRED_URL_SCHEME": "http",
        "SESSION_COOKIE_SECURE": False,
        "TRUSTED_HOSTS": None,
        "CANAILLE": {
            "DATABASE": "sql",
            "JAVASCRIPT": False,
            "HTMX": False,
            "ENABLE_PASSWORD_RECOVERY": False,
            "CAPTCHA_ENABLED": False,
            "SMTP": None,
        },
        "CANAILLE_SQL": {
            "DATABASE_URI": f"sqlite:///{HERE}/site.sqlite3",
            # A test's password needs no slow one.
            "PASSWORD_HASH_PARAMS": {"pbkdf2_sha512__rounds": 1000},
        },
        "CANAILLE_OIDC": {
            "REQUIRE_NONCE": False,
            "DYNAMIC_CLIENT_REGISTRATION_OPEN": True,
            "TRUSTED_DOMAINS": [],
            "ACTIVE_JWKS": [key("signing", private=True)],
        },
    }
)

from canaille.app import models  # noqa: E402
from canaille.backends import Backend  # noqa: E402


def fill():
    backend = Backend.instance
    with application.app_context(), backend.session():
        backend.save(
            models.User(
                user_name="ada",
                family_name="Lovelace",
                given_name="Ada",
                formatted_name="Ada",
                emails=["ada@example.test"],
                password="ada-password",
            )
        )
        for name, method, secret in [
            ("public-cli", "none", None),
            ("basic-cli", "client_secret_basic", "BASIC_SECRET"),
            ("service-cli", "client_secret_basic", "SERVICE_SECRET"),
            ("key-cli", "private_key_jwt", None),
        ]:
            client = models.Client(
                client_id=name,
                client_name=name,
                client_secret=os.environ[secret] if secret else None,
                token_endpoint_auth_method=method,
                redirect_uris=[os.environ["SITE_CALLBACK"]],
                post_logout_redirect_uris=[os.environ["SITE_GOODBYE"]],
                response_types=["code"],
                grant_types=[
                    "authorization_code",
                    "refresh_token",
                    "client_credentials",
                    JWT_BEARER,
                ],
                scope=["openid", "profile"],
                jwks=json.dumps({"keys": [key("client-rsa", private=False)]}),
                client_id_issued_at=datetime.datetime.now(datetime.timezone.utc),
            )
            backend.save(client)
            client.audience = [client]
            backend.save(client)


fill()
run_simple("127.0.0.1", PORT, application, threaded=True)
