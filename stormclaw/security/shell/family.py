"""The shape of a table entry for a program whose first operand chooses what it does."""

from __future__ import annotations

from dataclasses import dataclass

from stormclaw.security.shell.programs import Program, entry, words


@dataclass(frozen=True, slots=True)
class Family:
    """A program with subcommands.

    A subcommand with a subcommand of its own may be named by both words: `config/view`.

    Attributes:
        program: Its options, whatever the subcommand.
        low: Subcommands that only look.
        medium: Subcommands of everyday work; `*` means all that are not named elsewhere.
        high: Subcommands that publish, change accounts or reach beyond the project.
        runs: Subcommands whose operands are a command to run (`uv run pytest`).
        deep: Subcommands with subcommands of their own: a grant names both words.
        exact: Everything behind the name, word for word, that only looks: `auth status`.
    """

    program: Program
    low: frozenset[str] = frozenset()
    medium: frozenset[str] = frozenset()
    high: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    deep: frozenset[str] = frozenset()
    exact: frozenset[str] = frozenset()

    def named(self, first: str, second: str) -> str:
        """How the tables name a subcommand: by both its words where they know them."""
        both = f"{first}/{second}"
        known = (self.low, self.medium, self.high)
        return both if any(both in table for table in known) else first


def family(
    *,
    low: str = "",
    medium: str = "",
    high: str = "",
    runs: str = "",
    deep: str = "",
    exact: tuple[str, ...] = (),
    values: str = "",
    texts: str = "",
    writes: str = "",
    bad: str = "",
    single_dash: bool = False,
) -> Family:
    """A table entry; subcommands and options are separated by blanks."""
    program = entry(
        "medium", values=values, texts=texts, writes=writes, high=bad, subcommands=True,
        single_dash=single_dash,
    )  # fmt: skip
    return Family(
        program,
        low=words(low),
        medium=words(medium),
        high=words(high),
        runs=words(runs),
        deep=words(deep),
        exact=frozenset(exact),
    )
