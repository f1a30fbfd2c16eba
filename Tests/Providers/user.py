#!/usr/bin/env python3
"""A person at a browser, scripted: opens the URL that it is called with, signs in as Ada, allows
what is asked for, and follows the redirects to a page of the proxy's, or to the last page there is.
For tests only.

    user.py [--deny] [--code CODE] [--cookies FILE] [--signed-in] [--password P] URL

It knows plain HTML forms, and the JSON interface behind Glewlwyd's page, which is a script.
"""
import argparse
import html.parser
import http.cookiejar
import json
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

STEPS_MAX = 20
# Where the proxy waits for a browser.
OWN_PATHS = ("/callback", "/goodbye")
NAME = "ada"
FORM = "application/x-www-form-urlencoded"
YES = re.compile(r"allow|accept|approve|authori[sz]e|confirm|grant|consent|yes|log ?out", re.I)
NO = re.compile(r"deny|cancel|decline|refuse|reject|\bno\b|switch|forgot", re.I)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--deny", action="store_true", help="refuses what is asked for")
    parser.add_argument("--code", help="what another device shows")
    parser.add_argument("--cookies", help="keeps the session there for the next time")
    parser.add_argument("--signed-in", action="store_true", help="leaves where it must sign in")
    parser.add_argument("--password", default="ada-password")
    return parser.parse_args()


class Form:
    def __init__(self, attributes):
        self.action = attributes.get("action", "")
        self.is_post = attributes.get("method", "get").lower() == "post"
        self.fields, self.kinds, self.buttons = {}, {}, []

    @property
    def asks_for_password(self):
        return "password" in self.kinds.values()

    @property
    def code_field(self):
        names = [name for name in self.kinds if re.search(r"user_?code", name, re.I)]
        return next((name for name in names if self.kinds[name] != "hidden"), None)

    def button(self, denies):
        """The one to press: a name, a value and what stands on it; None where there is none."""
        no = [button for button in self.buttons if NO.search(" ".join(button))]
        if denies and no:
            return no[0]
        rest = [button for button in self.buttons if button not in no]
        agreeing = [button for button in rest if YES.search(" ".join(button))]
        return (agreeing + rest + [None])[0]


class Page(html.parser.HTMLParser):
    """The forms of a page, and its text."""

    def __init__(self, text):
        super().__init__()
        self.forms, self.words, self.form, self.pressed = [], [], None, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = {name: value or "" for name, value in attributes}
        name, kind = attributes.get("name", ""), attributes.get("type", "").lower()
        value = attributes.get("value", "")
        if tag == "form":
            self.form = Form(attributes)
            self.forms.append(self.form)
        elif self.form is None:
            return
        elif tag == "input" and kind in ("submit", "image"):
            self.form.buttons.append((name, value, ""))
        elif tag == "input" and name and kind not in ("checkbox", "radio", "button"):
            self.form.fields[name], self.form.kinds[name] = value, kind
        elif tag == "button" and kind in ("", "submit"):
            self.pressed = [name, value, ""]

    def handle_data(self, data):
        self.words.append(data)
        if self.pressed:
            self.pressed[2] += data

    def handle_endtag(self, tag):
        if tag == "button" and self.pressed and self.form:
            self.form.buttons.append(tuple(self.pressed))
            self.pressed = None
        if tag == "form":
            self.form = None

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())[-400:]

    def best_form(self):
        def weight(form):
            button = form.button(False)
            agrees = button is not None and YES.search(" ".join(button)) is not None
            return (form.asks_for_password, form.code_field is not None, agrees, form.is_post)

        forms = [form for form in self.forms if form.buttons]
        return max(forms, key=weight, default=None)


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Jar(http.cookiejar.MozillaCookieJar):
    """An address has no subdomains: the library keeps such a cookie as one for ".127.0.0.1", sends it
    to nobody and cannot end it. To browsers the dot means nothing (RFC 6265 section 5.2.3).
    """

    def set_cookie(self, cookie):
        if cookie.domain == ".127.0.0.1":
            cookie.domain, cookie.domain_specified = "127.0.0.1", False
        super().set_cookie(cookie)

    def clear(self, domain=None, path=None, name=None):
        super().clear("127.0.0.1" if domain == ".127.0.0.1" else domain, path, name)


class Browser:
    def __init__(self, cookies):
        self.jar = Jar(cookies)
        if cookies and os.path.exists(cookies):
            self.jar.load(ignore_discard=True, ignore_expires=True)
        self.opener = urllib.request.build_opener(
            Stay, urllib.request.HTTPCookieProcessor(self.jar), urllib.request.ProxyHandler({})
        )

    def keep(self):
        if self.jar.filename:
            self.jar.save(ignore_discard=True, ignore_expires=True)

    def ask(self, method, url, body=None, content=FORM, fields={}):
        request = urllib.request.Request(url, body, dict(fields), method=method)
        if body is not None:
            request.add_header("Content-Type", content)
        try:
            response = self.opener.open(request, timeout=20)
        except urllib.error.HTTPError as error:
            response = error
        page = response.read().decode("utf-8", "replace")
        return response.status, response.headers.get("Location"), page

    def ask_json(self, method, url, value):
        status, _, _ = self.ask(method, url, json.dumps(value).encode(), "application/json")
        if status != 200:
            raise SystemExit(f"user: {method} {url.split('?')[0]} answered {status}")


class Person:
    def __init__(self, wishes):
        self.wishes = wishes
        self.browser = Browser(wishes.cookies)

    def at_glewlwyd(self, url):
        """What the page's script does; returns where it goes on, or None where it ends."""
        parts = urllib.parse.urlsplit(url)
        query = dict(urllib.parse.parse_qsl(parts.query))
        api = f"{parts.scheme}://{parts.netloc}/api"
        prompt, onward = query.get("prompt", ""), query.get("callback_url", "")
        if prompt == "end_session":
            self.browser.ask("DELETE", f"{api}/{query['plugin']}/session/{query['sid']}")
            self.browser.ask("DELETE", f"{api}/auth/")
            return onward or None
        if prompt == "device":
            return f"{onward}?{urllib.parse.urlencode({'code': self.wishes.code})}"
        if prompt.startswith("device") or not onward:
            return None
        known, _, _ = self.browser.ask("GET", f"{api}/profile_list")
        if known != 200:
            self.may_sign_in(url)
            name = {"username": NAME, "password": self.wishes.password}
            self.browser.ask_json("POST", f"{api}/auth/", name)
        client = urllib.parse.quote(query["client_id"])
        scope = {"scope": query.get("scope", "")}
        self.browser.ask_json("PUT", f"{api}/auth/grant/{client}", scope)
        return onward + ("&" if "?" in onward else "?") + "g_continue"

    def may_sign_in(self, url):
        if self.wishes.signed_in:
            raise SystemExit(f"user: must sign in at {url.split('?')[0]}")

    def fill(self, form, url):
        """What a press of the button sends: a method, a URL, a body."""
        if form.asks_for_password:
            self.may_sign_in(url)
        for name, kind in form.kinds.items():
            if kind == "password":
                form.fields[name] = self.wishes.password
            elif name == form.code_field and self.wishes.code:
                form.fields[name] = self.wishes.code
            elif kind in ("text", "email", "") and re.search(r"user(_?name)?$|login", name):
                form.fields[name] = NAME
        # What is refused is a request, not the sign-in before it.
        denies = self.wishes.deny and (form.code_field or not form.asks_for_password)
        name, value, _ = form.button(denies)
        fields = {**form.fields, **({name: value} if name else {})}
        target, text = urllib.parse.urljoin(url, form.action or url), urllib.parse.urlencode(fields)
        if not form.is_post:
            return "GET", target.split("?")[0] + "?" + text, None
        return "POST", target, text.encode()

    def visit(self, url):
        method, body, fields, shown = "GET", None, {}, None
        for _ in range(STEPS_MAX):
            status, location, text = self.browser.ask(method, url, body, fields=fields)
            where = urllib.parse.urlsplit(url)
            if where.path in OWN_PATHS:
                print(f"user: {where.path} answered {status}", file=sys.stderr)
                return 0 if status == 200 else 1
            method, body, fields = "GET", None, {}
            if location:
                url, shown = urllib.parse.urljoin(url, location), None
                continue
            if where.path.endswith("/login.html") and "glewlwyd" in text.lower():
                onward = self.at_glewlwyd(url)
                if onward is None:
                    return 0
                url = onward
                continue
            page = Page(text)
            form = page.best_form()
            if status != 200 or form is None:
                print(f"user: {status} at {url.split('?')[0]}: {page.text}", file=sys.stderr)
                return 0 if status == 200 and self.wishes.code else 1
            if (url, form.kinds) == shown:
                raise SystemExit(f"user: stuck at {url.split('?')[0]}: {page.text}")
            shown = (url, form.kinds)
            fields = {"Referer": url, "Origin": f"{where.scheme}://{where.netloc}"}
            method, url, body = self.fill(form, url)
        raise SystemExit("user: too many steps")


def main():
    wishes = arguments()
    person = Person(wishes)
    try:
        return person.visit(wishes.url)
    finally:
        person.browser.keep()


if __name__ == "__main__":
    sys.exit(main())
