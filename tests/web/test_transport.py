"""What settings and proxies say of a connection: cookies, HSTS, closed addresses, the header Host."""

import pytest
from starlette.datastructures import Headers

from penchant.settings import NodeSettings
from penchant.web.exchange import client_address, is_secure
from serving import Service
from visitors import Visitor

HTTPS = {"x-forwarded-proto": "https"}


def settings_with(settings: NodeSettings, **changes: object) -> NodeSettings:
    return NodeSettings(data=settings.data, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("peer", "forwarded", "secure"),
    (
        ("10.0.0.1", "https", True),
        ("10.0.0.1", "http", False),
        ("10.0.0.1", "https, http", False),
        ("10.0.0.1", "", False),
        ("192.0.2.1", "https", False),
    ),
)
def test_the_scheme_is_believed_of_trusted_proxies_alone(peer: str, forwarded: str, *, secure: bool) -> None:
    settings = NodeSettings(trusted_proxies=("10.0.0.0/8",))

    assert is_secure({"client": (peer, 1)}, Headers({"x-forwarded-proto": forwarded}), settings) is secure


def test_with_a_certificate_all_is_secure() -> None:
    assert is_secure({}, Headers(), NodeSettings(tls_certificate="c.pem", tls_key="k.pem"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    (
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "203.0.113.9, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        ("10.0.0.1", "", "10.0.0.1"),
    ),
)
def test_the_address_is_the_last_one_before_trusted_proxies(peer: str, forwarded: str, address: str) -> None:
    settings = NodeSettings(trusted_proxies=("10.0.0.0/8",))
    headers = Headers({"x-forwarded-for": forwarded} if forwarded else {})

    assert client_address({"client": (peer, 1)}, headers, settings) == address


class TestBehindTls:
    @pytest.fixture
    def settings(self, settings: NodeSettings) -> NodeSettings:
        return settings_with(settings, tls_certificate="c.pem", tls_key="k.pem", hsts_max_age_s=86_400)

    def test_cookies_are_for_this_host_and_tls_alone(self, service: Service) -> None:
        visitor = Visitor(service, service.key)

        assert set(visitor.cookies) == {"__Host-penchant-session", "__Host-penchant-form"}
        assert visitor.get().status_code == 200
        header = visitor.get("sign-in").headers.get("set-cookie", "__Host-; Path=/; Secure")
        assert "; Secure" in header
        assert "Path=/;" in header

    def test_browsers_are_told_to_come_by_tls(self, service: Service) -> None:
        for answer in (service.get("/none/ids"), service.client.get("/-/health/live")):
            assert answer.headers["strict-transport-security"] == "max-age=86400"


def test_without_tls_nothing_is_said_of_it(service: Service) -> None:
    assert "strict-transport-security" not in service.client.get("/-/health/live", headers=HTTPS).headers


class TestClosed:
    @pytest.fixture
    def settings(self, settings: NodeSettings) -> NodeSettings:
        return settings_with(settings, dashboard=False, administration=False)

    def test_dashboard_and_administration_are_404(self, service: Service) -> None:
        admin = service.new_key(account="operators", admin=True)

        for path in ("/-/dashboard", "/-/dashboard/sign-in", "/-/admin/keys", "/-/admin/audit"):
            answer = service.get(path, key=admin)
            assert (answer.status_code, answer.json()["code"]) == (404, "unknown-route")
        assert service.client.get("/-/health/live").status_code == 200

    def test_who_looks_for_the_dashboard_is_told_which_package_has_it(self, service: Service) -> None:
        assert "penchant-desk" in service.client.get("/-/dashboard").json()["detail"]
        page = service.client.get("/", headers={"accept": "text/html"}, follow_redirects=False)
        assert (page.status_code, page.json()["dashboard"]) == (200, None)


@pytest.mark.usefixtures("alone")  # the client for nodes sends no two
def test_two_hosts_are_refused(service: Service) -> None:
    answer = service.client.get("/-/health/live", headers=[("host", "a"), ("host", "b")])

    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-request")
