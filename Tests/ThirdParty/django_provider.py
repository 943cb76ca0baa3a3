#!/usr/bin/env python3
"""An OpenID provider with django-oauth-toolkit (from PyPI), with one client and one user; see django_sign_in.py.

    Tests/ThirdParty/django_provider.py FOLDER PORT CALLBACK RETURN

It listens on 127.0.0.1:PORT and keeps its database in FOLDER. CALLBACK and RETURN are what the client registers: where
browsers return from a sign-in and from a sign-out. Besides the provider's own paths, POST /test/rotate replaces the
signing key, and POST /test/expire ends all access tokens.
"""
import pathlib
import socketserver
import sys
import wsgiref.simple_server

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
import django
from django.conf import settings

FOLDER, PORT, CALLBACK, RETURN = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]

LOGIN = """<!DOCTYPE html><title>Sign in</title>
<form method="post">{% csrf_token %}{{ form }}<input type="submit" value="Sign in"></form>"""


def new_key():
    return rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()


settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, SECRET_KEY="of a test", LOGIN_URL="/login/", STATIC_URL="/s/",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "provider.db"}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.staticfiles",
        "oauth2_provider"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware"],
    TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.contrib.auth.context_processors.auth"]}}],
    OAUTH2_PROVIDER={
        "OIDC_ENABLED": True, "OIDC_RSA_PRIVATE_KEY": new_key(), "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
        "SCOPES": {"openid": "Who you are", "profile": "Your name", "email": "Your address"},
        "OAUTH2_VALIDATOR_CLASS": f"{__name__}.Validator"})
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.contrib.auth.views import LoginView  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.template import engines  # noqa: E402
from django.urls import include, path  # noqa: E402
from django.utils import timezone  # noqa: E402
from django.views.decorators.csrf import csrf_exempt  # noqa: E402
from oauth2_provider.models import AccessToken, Application  # noqa: E402
from oauth2_provider.oauth2_validators import OAuth2Validator  # noqa: E402
from oauth2_provider.settings import oauth2_settings  # noqa: E402


class Validator(OAuth2Validator):
    oidc_claim_scope = None

    def get_additional_claims(self):
        return {"name": lambda request: request.user.get_full_name(), "email": lambda request: request.user.email}


class Login(LoginView):
    def render_to_response(self, context, **_):
        return HttpResponse(engines["django"].from_string(LOGIN).render(context, self.request))


@csrf_exempt
def rotate(_):
    oauth2_settings.OIDC_RSA_PRIVATE_KEYS_INACTIVE = [oauth2_settings.OIDC_RSA_PRIVATE_KEY]
    oauth2_settings.OIDC_RSA_PRIVATE_KEY = new_key()
    return HttpResponse("rotated")


@csrf_exempt
def expire(_):
    return HttpResponse(str(AccessToken.objects.update(expires=timezone.now())))


urlpatterns = [
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")), path("login/", Login.as_view()),
    path("test/rotate", rotate), path("test/expire", expire)]


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


call_command("migrate", verbosity=0)
User.objects.create_user("jo", "jo@example.org", "password-1", first_name="Jo", last_name="Doe")
Application.objects.create(
    name="Latchkey", client_id="latchkey", client_secret="example-secret", client_type=Application.CLIENT_CONFIDENTIAL,
    authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE, algorithm=Application.RS256_ALGORITHM,
    redirect_uris=CALLBACK, post_logout_redirect_uris=RETURN)
with wsgiref.simple_server.make_server("127.0.0.1", PORT, get_wsgi_application(), server_class=Server) as server:
    server.serve_forever()
