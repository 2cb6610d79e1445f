"""What a group does when its transaction fails, and what is not carried out at all."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError

import pytest
from sqlalchemy import Connection

from penchant.errors import ConnectionLost, PenchantError, StorageUnavailable
from penchant.storage import AddUsage, Command, Storage
from penchant.storage.databases.opening import Transactions
from penchant.storage.group_commit import GroupCommit, Lane

COMMANDS = [AddUsage(account_id=number, month="2026-11", answers=1) for number in (1, 2, 3)]


class FailingTransactions(Transactions):
    """Transactions of which the first ones fail where they would begin."""

    def __init__(self, storage: Storage, *failures: PenchantError) -> None:
        super().__init__(storage._database)
        self.failures = list(failures)
        self.begun = 0

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        self.begun += 1
        if self.failures:
            raise self.failures.pop(0)
        with super().write() as connection:
            yield connection


def answers(storage: Storage) -> list[int]:
    return [storage.accounts.count_answers(command.account_id, command.month) for command in COMMANDS]


def test_a_group_that_was_refused_is_tried_one_by_one(storage: Storage) -> None:
    transactions = FailingTransactions(storage, StorageUnavailable("refused"))

    assert GroupCommit(transactions).carry_out(COMMANDS) == [None, None, None]
    assert (transactions.begun, answers(storage)) == (1 + len(COMMANDS), [1, 1, 1])


def test_a_group_whose_connection_was_lost_is_not_tried_again_since_it_may_be_stored(storage: Storage) -> None:
    transactions = FailingTransactions(storage, ConnectionLost("gone"))
    outcomes = GroupCommit(transactions).carry_out(COMMANDS)

    assert all(isinstance(outcome, ConnectionLost) for outcome in outcomes)
    assert (transactions.begun, answers(storage)) == (1, [0, 0, 0])


def test_a_command_that_nobody_waits_for_any_more_is_not_carried_out() -> None:
    held, began = threading.Event(), threading.Event()
    taken: list[Command[None]] = []

    def carry_out(commands: Sequence[Command[None]]) -> list[None]:
        began.set()
        held.wait(60)
        taken.extend(commands)
        return [None] * len(commands)

    lane = Lane("test", carry_out)
    first = lane.submit(COMMANDS[0])
    assert began.wait(60)
    given_up, last = lane.submit(COMMANDS[1]), lane.submit(COMMANDS[2])
    assert given_up.cancel()
    held.set()

    for carried_out in first, last:
        carried_out.result(60)
    with pytest.raises(CancelledError):
        given_up.result(60)
    lane.close()
    assert taken == [COMMANDS[0], COMMANDS[2]]
