"""Opening: what a path led to, and never what was put in its place; by the kernel and by hand."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from stormclaw.tools._openat import (
    FOLDER,
    FOLDER_ABOVE,
    WALK_ONLY,
    Moved,
    closing,
    look,
    must_be,
    open_at,
    open_place,
    real_place,
)

READ = os.O_RDONLY | os.O_NONBLOCK


@pytest.fixture(params=["kernel", "by hand"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to open must behave alike."""
    if request.param == "by hand":
        monkeypatch.setenv(WALK_ONLY, "1")
    else:
        monkeypatch.delenv(WALK_ONLY, raising=False)
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "sub" / "deep" / "file").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("outside")
    return root


def content(descriptor: int) -> str:
    with os.fdopen(descriptor) as file:
        return file.read()


def test_a_file_far_below(root: Path) -> None:
    assert content(open_place(root / "sub/deep/file", READ, root)) == "inside"
    assert content(open_place(root / "sub/deep/file", READ)) == "inside"
    with closing(open_place(root, FOLDER, root)) as folder:
        assert real_place(folder) in {str(root), None}
        assert content(open_at(folder, "sub/deep/file", READ)) == "inside"
        assert content(open_at(folder, "./sub//deep/file", READ)) == "inside"


@pytest.mark.parametrize("target", ["../outside", "sub", "/etc", "missing", "."])
def test_no_link_is_followed_wherever_it_stands(root: Path, target: str) -> None:
    """Not even one that stays inside: the place was resolved before, so it was put there since."""
    (root / "link").symlink_to(target)
    (root / "sub" / "link").symlink_to(f"../{target}")
    with closing(open_place(root, FOLDER, root)) as folder:
        for below in ("link", "link/file", "sub/link", "sub/link/file", "link/deep/file"):
            for flags in (READ, FOLDER, FOLDER_ABOVE, os.O_WRONLY | os.O_CREAT):
                with pytest.raises(Moved):
                    os.close(open_at(folder, below, flags, 0o600))
    assert (root.parent / "outside" / "file").read_text() == "outside"


@pytest.mark.parametrize(
    "below", ["..", "../outside/file", "sub/../../outside/file", "sub/deep/../../../outside/file"]
)
def test_nothing_leads_up_and_out(root: Path, below: str) -> None:
    with closing(open_place(root, FOLDER, root)) as folder, pytest.raises(Moved):
        os.close(open_at(folder, below, READ))


def test_what_is_not_there(root: Path) -> None:
    with closing(open_place(root, FOLDER, root)) as folder:
        for below in ("missing", "missing/file", "sub/missing"):
            with pytest.raises(FileNotFoundError):
                open_at(folder, below, READ)
        with pytest.raises(NotADirectoryError):
            open_at(folder, "sub/deep/file/below", READ)
        with pytest.raises(NotADirectoryError):
            open_at(folder, "sub/deep/file", FOLDER)
        for below in ("x" * 300, "sub/" + "x" * 300, "d/" * 2200 + "x"):
            with pytest.raises(OSError, match="too long"):
                open_at(folder, below, READ)


def test_a_file_is_made_with_the_mode_that_was_asked_for(root: Path) -> None:
    with closing(open_place(root, FOLDER_ABOVE, root)) as folder:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        os.close(open_at(folder, "sub/new", flags, 0o600))
        assert stat.S_IMODE((root / "sub/new").stat().st_mode) == 0o600
        with pytest.raises(FileExistsError):
            open_at(folder, "sub/new", flags, 0o600)
        (root / "sub" / "dangling").symlink_to(root.parent / "made")
        with pytest.raises((Moved, FileExistsError)):
            open_at(folder, "sub/dangling", flags, 0o600)
    assert not (root.parent / "made").exists()


def test_looking_joins_no_pipe_and_wakes_no_device(root: Path) -> None:
    os.mkfifo(root / "pipe")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(os.path.relpath(root / "sock"))
    try:
        assert stat.S_ISFIFO(look(root / "pipe", root).st_mode)
        assert stat.S_ISSOCK(look(root / "sock", root).st_mode)
        assert stat.S_ISDIR(look(root, root).st_mode)
    finally:
        listening.close()
    (root / "link").symlink_to("sub")
    with pytest.raises(Moved):
        look(root / "link", root)
    # Nobody reads the pipe: had it been joined, a writer would find a reader now.
    with pytest.raises(OSError, match="No such device"):
        os.open(root / "pipe", os.O_WRONLY | os.O_NONBLOCK)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not tell")
def test_where_a_descriptor_really_is(root: Path) -> None:
    with closing(open_place(root / "sub", FOLDER, root)) as folder:
        must_be(folder, root / "sub")
        (root / "sub").rename(root / "elsewhere")
        with pytest.raises(Moved):
            must_be(folder, root / "sub")
    file = root / "elsewhere" / "deep" / "file"
    with closing(open_place(file, READ, root)) as opened:
        file.unlink()
        must_be(opened, file)  # replaced a moment ago: it was the right one all the same


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no such links here")
def test_links_of_the_kernel_are_no_way_out(root: Path) -> None:
    with (
        closing(os.open(root.parent / "outside", os.O_RDONLY)) as outside,
        closing(open_place(Path("/proc"), FOLDER)) as proc,
        pytest.raises(Moved),
    ):
        os.close(open_at(proc, f"{os.getpid()}/fd/{outside}/file", READ))


def test_names_of_any_bytes(root: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \n \x01 ")
    (root / name).write_text("odd")
    assert content(open_place(root / name, READ, root)) == "odd"
