#!/usr/bin/env python3
"""A person at a browser, scripted: opens the URL that it is called with, signs in as Ada, allows what
is asked for, and follows the redirect to the callback on this machine. For tests only.

It knows plain HTML forms, and the JSON interface behind Glewlwyd's page, which is a script.
"""
import html.parser
import http.cookiejar
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

NAME, PASSWORD = "ada", "ada-password"
STEPS_MAX = 20


class Form(html.parser.HTMLParser):
    """The last form of a page that has a password field, a ticket or a button."""

    def __init__(self, page):
        super().__init__()
        self.action, self.fields, self.buttons, self.is_open = None, {}, [], False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = {name: value or "" for name, value in attributes}
        if tag == "form":
            self.action, self.fields, self.buttons = attributes.get("action", ""), {}, []
            self.is_open = True
        if not self.is_open:
            return
        name, kind = attributes.get("name", ""), attributes.get("type", "")
        if tag == "input" and name:
            self.fields[name] = PASSWORD if kind == "password" else attributes.get("value", "")
            if kind == "text" and "user" in name:
                self.fields[name] = NAME
        if tag == "button" and name:
            self.buttons.append((name, attributes.get("value", "")))

    def handle_endtag(self, tag):
        self.is_open = self.is_open and tag != "form"


class Redirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Browser:
    def __init__(self):
        self.opener = urllib.request.build_opener(
            Redirect,
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()),
            urllib.request.ProxyHandler({}),
        )

    def ask(self, method, url, body=None, content="application/x-www-form-urlencoded"):
        request = urllib.request.Request(url, body, method=method)
        if body is not None:
            request.add_header("Content-Type", content)
        try:
            response = self.opener.open(request, timeout=20)
        except urllib.error.HTTPError as error:
            response = error
        page = response.read().decode("utf-8", "replace")
        return response.status, response.headers.get("Location"), page

    def ask_json(self, method, url, value):
        status, _, page = self.ask(method, url, json.dumps(value).encode(), "application/json")
        if status != 200:
            raise SystemExit(f"user: {method} {url.split('?')[0]} answered {status}")


def sign_in_at_glewlwyd(browser, url):
    """What the page's script does; returns where it goes on."""
    parts = urllib.parse.urlsplit(url)
    query = dict(urllib.parse.parse_qsl(parts.query))
    api = f"{parts.scheme}://{parts.netloc}/api"
    browser.ask_json("POST", f"{api}/auth/", {"username": NAME, "password": PASSWORD})
    client = urllib.parse.quote(query["client_id"])
    browser.ask_json("PUT", f"{api}/auth/grant/{client}", {"scope": query.get("scope", "")})
    return query["callback_url"] + "&g_continue"


def main(url):
    browser = Browser()
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    callback = query["redirect_uri"]
    method, body = "GET", None
    for _ in range(STEPS_MAX):
        status, location, page = browser.ask(method, url, body)
        if url.split("?")[0] == callback:
            print(f"user: the callback answered {status}", file=sys.stderr)
            return 0 if status == 200 else 1
        method, body = "GET", None
        if location:
            url = urllib.parse.urljoin(url, location)
        elif urllib.parse.urlsplit(url).path.endswith("/login.html"):
            url = sign_in_at_glewlwyd(browser, url)
        else:
            form = Form(page)
            if form.action is None or status != 200:
                raise SystemExit(f"user: stuck at {url.split('?')[0]}, status {status}")
            allowing = [pair for pair in form.buttons if pair[1] in ("allow", "yes", "approve")]
            method, url = "POST", urllib.parse.urljoin(url, form.action or url)
            body = urllib.parse.urlencode({**form.fields, **dict(allowing[:1])}).encode()
    raise SystemExit("user: too many steps")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
