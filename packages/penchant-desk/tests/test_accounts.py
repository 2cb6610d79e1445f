"""The dashboard's pages of accounts: keys, usage and the audit log, for admins."""

import re

import pytest

from acceptance.processes import wait_until
from serving import Service
from visitors import HOME, Visitor, fields_of, text_of

ADMIN_PAGES = ("keys", "usage", "audit")


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_an_admin_sees_keys_and_no_source(filled: Service) -> None:
    visitor = Visitor(filled, filled.new_key(account="operators", admin=True))

    turned = visitor.get()
    shown = [text_of(visitor.get(page).text) for page in ADMIN_PAGES]

    assert (turned.status_code, turned.headers["location"]) == (303, f"{HOME}/keys")
    assert filled.key.split("_")[1] in shown[0]
    assert "100,000" in shown[0]
    assert filled.account in shown[1]
    assert "source.create" in shown[2]
    made = [" ".join(each.split()) for each in shown[2].split("UTC")]
    assert any("made the source of s" in each for each in made), made
    assert visitor.get("pieces", source="s").status_code == 403
    assert "2020-01" in visitor.get("usage", month="2020-01").text
    assert visitor.get("usage", month="never").status_code == 200


def test_only_admins_see_the_pages_of_accounts(visitor: Visitor) -> None:
    for page in ADMIN_PAGES:
        answer = visitor.get(page)

        assert (answer.status_code, "--admin" in text_of(answer.text)) == (403, True), page


@pytest.mark.slow
def test_an_admin_makes_and_revokes_keys(filled: Service) -> None:
    visitor = Visitor(filled, filled.new_key(account="operators", admin=True))
    form = f"{HOME}/keys"

    made = visitor.fill(visitor.get("keys"), form, account=filled.account, plan="basic", days="3", admin="1")
    key = re.search(r'<code class="key">([^<]+)<', made.text)
    assert key is not None
    assert filled.get("/-/admin/usage", key=key[1]).status_code == 200
    assert key[1] not in visitor.get("keys").text
    proof = dict(fields_of(made.text, form))["proof"]
    revoked = visitor.send(form, [("proof", proof), ("revoke", key[1].split("_")[1])])

    assert "is revoked" in text_of(revoked.text)
    wait_until(lambda: filled.get("/-/admin/usage", key=key[1]).status_code == 401)
    assert visitor.send(form, [("proof", proof), ("revoke", "nobody")]).status_code == 422
    for wish in ({"account": "a\x01"}, {"account": "a", "days": "soon"}, {"account": "a", "days": "0"}):
        told = visitor.fill(visitor.get("keys"), form, **wish)
        assert (told.status_code, 'role="alert"' in told.text) == (422, True), wish
