"""Mounted in the service: sessions are the service's, and requests to the interface stay in the process."""

from typing import Any, Self

from penchant_client import AsyncClient
from penchant_client.in_process import in_process_client
from penchant_desk.problems import PageProblem, problem_of
from penchant_desk.requests import Scope
from penchant_desk.sessions import DeskSession, rights


class MountedEntrance:
    """A request that the service hands over, with its host (`penchant.web.mounts.host.MountHost`)."""

    def __init__(self, host: Any) -> None:
        self._host = host
        settings = host.settings
        self.base_path: str = settings.base_path
        self.image_hosts = settings.image_hosts
        self.sign_out_at = settings.dashboard_proxy_sign_out
        self.shows_metrics = settings.metrics_public
        self.is_secure = host.is_secure()

    @classmethod
    def of_scope(cls, scope: Scope) -> Self:
        """Return the entrance of a request."""
        return cls(scope["state"]["host"])

    async def enter(self) -> None:
        """Wait until the request may begin."""
        await self._host.enter()

    def named(self, account_mark: str) -> DeskSession | None:
        """Return the session of the person whom a proxy names, in the account of a mark; ``None`` where none does."""
        session = self._host.named_session(account_mark)
        return None if session is None else self._session(session)

    async def read(self, token: str) -> DeskSession:
        """Return the session of a key."""
        return self._session(await self._host.read_session(token))

    async def begin(self, key: str) -> DeskSession:
        """Return a new session of a key."""
        return self._session(await self._host.begin_session(key))

    async def end(self, token: str) -> None:
        """End a session."""
        await self._host.end_session(token)

    async def count(self, session: DeskSession) -> None:
        """Count the request against the rate of a session's plan."""
        await self._host.count(session.caller)

    def client(self, session: DeskSession) -> AsyncClient:
        """Return what asks the interface for a session, by parts of the request that came in."""
        return in_process_client(self._host.service_of(session.caller))

    def problem(self, error: Exception) -> PageProblem | None:
        """Return what a page says of an error of the service; ``None`` where it is none."""
        told = self._host.problem(error)
        return None if told is None else problem_of(told)

    def _session(self, session: Any) -> DeskSession:
        return DeskSession(
            **rights(session.access),
            token=session.token,
            proof=session.proof,
            earlier_proof=session.earlier_proof,
            person=session.person,
            account=session.account,
            grants=session.grants,
            caller=session,
            packages=self._host.packages,
        )
