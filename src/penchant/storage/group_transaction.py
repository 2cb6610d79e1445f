"""Group transactions: the commands of a group are written in one transaction, in an order that all processes keep.

A transaction of PostgreSQL locks the counters of every source that it changes, until its commit. Two processes whose
groups share sources would wait for each other for ever if one locked a, then b, and the other b, then a. So each group
goes through its sources by ascending number; within a source the kinds ascend (`WriteTransaction._row`).
"""

from collections.abc import Sequence

from penchant.errors import PenchantError, StorageUnavailable
from penchant.storage.group_commit import now_ms
from penchant.storage.hashing import source_id
from penchant.storage.records import (
    AddUsage,
    Command,
    EraseUser,
    Outcome,
    RecordImpressions,
    RecordInteractions,
    ReplacePreferences,
)
from penchant.storage.transactions import Transactions
from penchant.storage.writes import WriteTransaction

_TOGETHER = (RecordInteractions, RecordImpressions)
"""The commands of which many cost hardly more than one."""


class GroupTransaction:
    """Writes groups of commands, each in one transaction."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def run(self, commands: Sequence[Command]) -> list[Outcome | PenchantError]:
        """Carry out commands in one transaction; return an outcome for each, or the error of one that is refused.

        Raises:
            StorageUnavailable: the transaction failed; whether it was committed is certain only where the
                connection is still there.
        """
        outcomes: dict[int, Outcome | PenchantError] = {}
        database = self._transactions.database
        with self._transactions.write() as connection:
            writing = WriteTransaction(connection, database, self._transactions.dictionaries, now_ms())
            for positions in in_source_order(commands):
                outcomes |= zip(positions, _carry_out(writing, [commands[at] for at in positions]), strict=True)
        # After the commit: a checkpoint can empty no log in which a transaction is still open.
        if any(_forgets(command) for command in commands):
            self._transactions.forget_log()
        return [outcomes[position] for position in range(len(commands))]


def _forgets(command: Command) -> bool:
    """Return whether a command is to leave nothing of what it removes."""
    return isinstance(command, EraseUser) or (isinstance(command, ReplacePreferences) and not command.preferences)


def _carry_out(writing: WriteTransaction, commands: Sequence[Command]) -> Sequence[Outcome | PenchantError]:
    """Carry out one command, or those of one source that come together; return the outcome or the error of each."""
    try:
        together = [command for command in commands if isinstance(command, RecordInteractions)]
        if len(together) == len(commands):
            return writing.record(together)
        reported = [command for command in commands if isinstance(command, RecordImpressions)]
        if len(reported) == len(commands):
            return writing.record_impressions(reported)
        return [writing.execute(command) for command in commands]
    except StorageUnavailable:
        # The transaction itself is lost, so that the commands before cannot be committed either.
        raise
    except PenchantError as error:
        return [error] * len(commands)


def in_source_order(commands: Sequence[Command]) -> list[list[int]]:
    """Return the positions of commands by ascending source: all processes lock counters in the same order.

    Interactions of a source that follow each other come together, impressions too, every other command alone.
    """

    def number(position: int) -> int:
        command = commands[position]
        if isinstance(command, AddUsage):
            # Usage is counted in a row of the account, without a source: it comes first in every process.
            return -1
        return source_id(command.account_id, command.source)

    runs: list[list[int]] = []
    # The sort is stable: the commands of a source stay in the order in which they were queued.
    for position in sorted(range(len(commands)), key=number):
        last = runs[-1][-1] if runs else position
        alike = isinstance(commands[position], _TOGETHER) and type(commands[position]) is type(commands[last])
        if runs and alike and number(last) == number(position):
            runs[-1].append(position)
        else:
            runs.append([position])
    return runs
