"""A Django site in one file, with nothing but the OAuth Toolkit and a page to sign in. For tests
only; dot.sh runs it in an empty directory and says the rest in the environment.
"""
import os

import django
from django.conf import settings

BASE, HERE = os.environ["SITE_BASE"], os.getcwd()
SIGN_IN = """<form method="post">{% csrf_token %}{{ form.as_p }}
<input type="hidden" name="next" value="{{ next }}"><button>Sign in</button></form>"""
SCOPES = ["openid", "profile", "offline_access", "api.read", "introspection"]

settings.configure(
    SECRET_KEY="of this test alone",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": f"{HERE}/site.sqlite3",
            "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"},
        }
    },
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "oauth2_provider",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                ],
                "loaders": [
                    (
                        "django.template.loaders.locmem.Loader",
                        {"registration/login.html": SIGN_IN},
                    ),
                    "django.template.loaders.app_directories.Loader",
                ],
            },
        }
    ],
    # A test's password needs no slow one.
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    LOGIN_URL="/accounts/login/",
    STATIC_URL="/static/",
    OAUTH2_PROVIDER={
        "SCOPES": {scope: scope for scope in SCOPES},
        "PKCE_REQUIRED": True,
        "ACCESS_TOKEN_EXPIRE_SECONDS": int(os.environ["SITE_LIFETIME"]),
        "REFRESH_TOKEN_EXPIRE_SECONDS": 86400,
        "ROTATE_REFRESH_TOKEN": True,
        "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "OIDC_ENABLED": True,
        "OIDC_ISS_ENDPOINT": f"{BASE}/o",
        "OIDC_RSA_PRIVATE_KEY": open(f"{HERE}/signing.pem").read(),
        "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
        "OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT": False,
        "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
        "OAUTH2_VALIDATOR_CLASS": f"{__name__}.Validator",
        "DCR_ENABLED": True,
        "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
        "OAUTH_DEVICE_VERIFICATION_URI": f"{BASE}/o/device/",
        "OAUTH_DEVICE_VERIFICATION_URI_COMPLETE": lambda code: f"{BASE}/o/device/?user_code={code}",
        "DEVICE_FLOW_INTERVAL": 1,
        "ALLOWED_REDIRECT_URI_SCHEMES": ["http", "https"],
    },
)
django.setup()

from django.contrib.auth import models as people  # noqa: E402
from django.contrib.auth import views  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db.models.signals import pre_save  # noqa: E402
from django.urls import include, path  # noqa: E402
from oauth2_provider.models import get_application_model  # noqa: E402
from oauth2_provider.oauth2_validators import OAuth2Validator  # noqa: E402
from oauth2_provider.urls import metadata_urlpatterns  # noqa: E402

Application = get_application_model()


class Validator(OAuth2Validator):
    """ID tokens and userinfo name the person."""

    oidc_claim_scope = {**OAuth2Validator.oidc_claim_scope, "name": "profile"}

    def get_additional_claims(self, request):
        return {"name": request.user.get_full_name()}


def sign_with_rsa(sender, instance, **_):
    """Clients that register themselves have no algorithm otherwise, and get a 500 with `openid`."""
    instance.algorithm = instance.algorithm or "RS256"


pre_save.connect(sign_with_rsa, sender=Application)

urlpatterns = [
    path("o/", include("oauth2_provider.urls")),
    path("accounts/login/", views.LoginView.as_view()),
    *metadata_urlpatterns,
]
application = get_wsgi_application()


def create():
    """Makes the tables."""
    call_command("migrate", verbosity=0)


def fill():
    """Ada and the clients; each of these has one grant."""
    ada = people.User.objects.create_user(
        "ada", "ada@example.test", "ada-password", first_name="Ada"
    )
    code, machine = "authorization-code", "client-credentials"
    device = "urn:ietf:params:oauth:grant-type:device_code"
    for name, grant, secret in [
        ("public-cli", code, None),
        ("basic-cli", code, "BASIC_SECRET"),
        ("post-cli", code, "POST_SECRET"),
        ("service-cli", machine, "SERVICE_SECRET"),
        ("device-cli", device, None),
    ]:
        Application.objects.create(
            client_id=name,
            name=name,
            client_secret=os.environ[secret] if secret else "",
            client_type="confidential" if secret else "public",
            authorization_grant_type=grant,
            # Any port of it will do.
            redirect_uris="http://127.0.0.1/callback" if grant == code else "",
            post_logout_redirect_uris=os.environ["SITE_GOODBYE"],
            algorithm="RS256",
            user=ada if grant == machine else None,
        )
