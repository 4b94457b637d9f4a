"""The command line: finds the noun, hands over, and turns every known error into an exit code."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NoReturn

from stormclaw import __version__, log
from stormclaw.cli.options import VALUED, common
from stormclaw.errors import RETRYABLE, ConfigError, ProviderError, StormClawError, UsageError
from stormclaw.protocol.inert import inert

LOG = logging.getLogger(__name__)

NOUNS: Mapping[str, str] = MappingProxyType(
    {
        "init": "make the StormClaw folder, a commented config, an empty memory",
        "onboard": "connect a model, step by step",
        "agent": "converse line by line, or one turn with -m",
        "config": "validate, show, path",
        "local": "list, pull, rm: models that run on this machine",
        "provider": "list, test",
        "key": "list, add, remove, retry",
        "model": "list: windows, prices, abilities",
        "tool": "list, run",
        "policy": "show, test, forget",
        "memory": "list, search, show, clear, reindex",
        "receipt": "list, show, verify, export, rotate",
        "session": "list, show, export, import, fork, rename, rm",
        "doctor": "check terminal, sandbox, programs, network, stores",
        "estop": "stop every tool of every running StormClaw",
    }
)
"""Noun -> what it is for; each is a module `stormclaw.cli.NOUN` with `add` and `run`."""

EXIT_CODES = """\
exit codes: 0 done, 1 error, 2 usage, 3 denied by policy, 53 turn or budget limit,
75 try again later (rate limit, server, timeout, connection), 130 interrupted"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are ours."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of exit, so that one place decides on exit codes."""
        raise UsageError(f"{self.prog}: {message}\n{self.format_usage().strip()}")


def run(argv: Sequence[str]) -> int:
    """Run one command line; returns the exit code."""
    try:
        return _dispatch(list(argv))
    except UsageError as error:
        return _complain(error, 2)
    except ConfigError as error:
        return _complain(error, 2 if _from_flags(error) else 1)
    except ProviderError as error:
        hint = f"\n{error.hint}" if error.hint else ""
        return _complain(f"{error}{hint}", 75 if error.kind in RETRYABLE else 1)
    except StormClawError as error:
        return _complain(error, 1)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1


def _dispatch(argv: list[str]) -> int:
    noun = _noun(argv)
    if noun is None:
        from stormclaw.cli import chat

        parser = Parser(
            prog="stormclaw",
            description="A coding assistant in the terminal. Without a command it opens here.",
            epilog=_overview(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=[common()],
        )
        parser.add_argument("-V", "--version", action="version", version=f"stormclaw {__version__}")
        chat.add(parser)
        return chat.run(_logged(parser.parse_args(argv)))
    argv.remove(noun)
    module = importlib.import_module(f"stormclaw.cli.{noun}")
    parser = Parser(
        prog=f"stormclaw {noun}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common()],
    )
    module.add(parser)
    code: int = module.run(_logged(parser.parse_args(argv)))
    return code


def _logged(options: argparse.Namespace) -> argparse.Namespace:
    """Log as the environment and `-v` say, from here on."""
    log.setup(env=os.environ, verbose=options.verbose)
    log.event(LOG, "startup", version=__version__)
    return options


def _noun(argv: Sequence[str]) -> str | None:
    """The first word that is no option and no option's value, if it is a noun."""
    skip = False
    for word in argv:
        if skip:
            skip = False
        elif word == "--":
            return None
        elif word.startswith("-"):
            skip = word in VALUED
        else:
            return word if word in NOUNS else None
    return None


def _overview() -> str:
    width = max(map(len, NOUNS))
    lines = (f"  {noun:<{width}}  {about}" for noun, about in NOUNS.items())
    examples = (
        "  stormclaw                              open the assistant in this project\n"
        '  stormclaw -p "why does the build fail?" one answer on standard output\n'
        "  stormclaw -c                           go on with the last session here"
    )
    return "commands:\n" + "\n".join(lines) + f"\n\nexamples:\n{examples}\n\n{EXIT_CODES}"


def _from_flags(error: ConfigError) -> bool:
    return all(problem.file.startswith("flag") for problem in error.problems)


def _complain(error: object, code: int) -> int:
    sys.stderr.write(f"stormclaw: {inert(log.mask_secrets(str(error)))}\n")
    return code
