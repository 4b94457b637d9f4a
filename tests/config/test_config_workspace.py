"""Which folder is worked in: never the home folder, never `/`."""

from __future__ import annotations

from pathlib import Path

import pytest

from stormclaw.config.workspace import create_workspace, find_workspace, git_root
from stormclaw.errors import UsageError


@pytest.fixture
def me(tmp_path: Path) -> Path:
    """A home folder with a git project, a worktree and a plain folder in it."""
    home = tmp_path.resolve() / "me"
    for folder in ("code/app/.git", "code/app/src/deep", "code/tree/src", "plain/sub"):
        (home / folder).mkdir(parents=True)
    (home / "code/tree/.git").write_text("gitdir: /elsewhere\n")
    return home


def found(me: Path, start: str, configured: str = "auto", flag: str | None = None) -> Path:
    named = None if flag is None else Path(flag)
    return find_workspace(me / start, configured, named, {"HOME": str(me), "W": str(me / "plain")})


def test_the_git_root_around_the_current_folder(me: Path) -> None:
    assert found(me, "code/app/src/deep") == me / "code/app"
    assert found(me, "code/app") == me / "code/app"
    assert found(me, "code/tree/src") == me / "code/tree"
    assert git_root(me / "code/tree/src") == me / "code/tree"


def test_else_the_current_folder(me: Path) -> None:
    assert found(me, "plain/sub", configured="") == me / "plain/sub"


def test_configured_comes_before_git_and_the_flag_before_both(me: Path) -> None:
    assert found(me, "code/app", configured="$W/sub") == me / "plain/sub"
    assert found(me, "code/app", configured="~/plain") == me / "plain"
    assert found(me, "code/app", configured="~/plain", flag="src") == me / "code/app/src"
    assert found(me, "code/app", flag=str(me / "plain")) == me / "plain"


@pytest.mark.parametrize(
    ("start", "configured", "flag"),
    [
        (".", "auto", None),
        ("/", "auto", None),
        ("plain", "~", None),
        ("plain", "/", None),
        ("plain", "auto", "/"),
        ("plain", "auto", ".."),
    ],
)
def test_never_home_or_root(me: Path, start: str, configured: str, flag: str | None) -> None:
    assert found(me, start, configured, flag) == me / "stormclaw-workspace"


def test_never_home_through_a_link(me: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(me)
    env = {"HOME": str(tmp_path / "link")}
    assert find_workspace(me, "auto", None, env) == me / "stormclaw-workspace"


def test_dotfiles_in_git_do_not_make_home_the_workspace(me: Path) -> None:
    (me / ".git").mkdir()
    assert found(me, "plain/sub") == me / "plain/sub"
    assert found(me, ".") == me / "stormclaw-workspace"


@pytest.mark.parametrize(
    ("configured", "flag", "message"),
    [
        ("auto", "gone", "--workspace: .*gone does not exist"),
        ("~/gone", None, "workspace_dir: .*gone does not exist"),
        ("~/file", None, "workspace_dir: .*file is not a folder"),
        ("$NOT_SET/x", None, "NOT_SET is not set"),
    ],
)
def test_a_named_folder_must_be_there(
    me: Path, configured: str, flag: str | None, message: str
) -> None:
    (me / "file").write_text("")
    with pytest.raises(UsageError, match=message):
        found(me, "plain", configured, flag)


def test_init_may_name_a_folder_it_will_make(me: Path) -> None:
    env = {"HOME": str(me)}
    workspace = find_workspace(me, "~/new/one", None, env, must_exist=False)
    assert create_workspace(workspace)
    assert workspace.is_dir()
    assert not create_workspace(workspace)


def test_a_folder_that_cannot_be_made_is_told(me: Path) -> None:
    (me / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be created"):
        create_workspace(me / "file" / "x")


def test_a_link_to_itself_is_told(me: Path) -> None:
    (me / "loop").symlink_to(me / "loop")
    with pytest.raises(UsageError, match="link to itself"):
        found(me, "plain", flag=str(me / "loop"))
