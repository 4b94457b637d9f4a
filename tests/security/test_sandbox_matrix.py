"""Real development work inside the walls: what a person would do outside must work."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from boxed import Box, box

from stormclaw.protocol.effects import Reach

PYTHON = sys.executable


@pytest.fixture
def walls(tmp_path: Path) -> Iterator[Box]:
    yield from box(tmp_path)


def needs(program: str) -> pytest.MarkDecorator:
    found = shutil.which(program)
    return pytest.mark.skipif(found is None, reason=f"{program} is not installed")


def wheel(folder: Path, name: str = "tidy") -> Path:
    """A package anybody could have made."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-1.0-py3-none-any.whl"
    about = f"{name}-1.0.dist-info"
    facts = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", "ANSWER = 42\n")
        archive.writestr(f"{about}/METADATA", facts)
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return path


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """The folder on 127.0.0.1."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_git_from_the_first_commit_to_a_worktree(walls: Box) -> None:
    walls.ok("git init -q -b main . && echo a > a && git add a && git commit -qm first")
    said = walls.ok(
        "git status --short; git log --oneline --format=%an:%s; git branch topic;"
        " git checkout -q topic && echo b >> a && git commit -qam second && git checkout -q main"
        " && git merge -q topic && git worktree add -q tree -b other && cd tree && echo c > c"
        " && git add c && git commit -qm third && git log --oneline | wc -l"
    )
    assert said == "Ann:first\n3\n"
    walls.ok(
        "git stash -q || true; echo d > d; git add d; git stash -q; git stash pop -q; git gc -q"
    )
    walls.ok("git rebase -q HEAD~1; git reset -q --hard; git tag v1; git fsck --no-progress")
    assert subprocess.run(["git", "status", "--short"], cwd=walls.workspace).returncode == 0


def test_git_keeps_what_runs_later(walls: Box) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=walls.workspace, check=True)
    ended = walls.run("git config core.hooksPath evil")
    assert ended.code != 0
    assert ended.lack is None
    assert "evil" not in (walls.workspace / ".git" / "config").read_text()
    assert walls.run("mv .git elsewhere").code != 0


def test_git_in_a_worktree_whose_repository_lies_elsewhere(tmp_path: Path) -> None:
    main, tree = tmp_path.resolve() / "main", tmp_path.resolve() / "tree"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", str(main)], check=True)
    for words in (["commit", "-q", "--allow-empty", "-m", "x"], ["worktree", "add", "-q", tree]):
        subprocess.run([*git, "-C", str(main), *words], check=True, capture_output=True)
    for walls in box(tmp_path, workspace=tree):
        walls.ok("echo a > a && git add a && git commit -qm inside && git status --short")
        assert walls.run(f"echo x >> {main}/.git/config").code != 0
        assert walls.run(f"echo x > {main}/.git/hooks/pre-commit").code != 0
        assert walls.run("echo gitdir: /x > .git").code != 0
        walls.run(f"echo x > {main}/file")
        assert os.listdir(main) == [".git"]


def test_a_git_file_that_points_at_secrets_opens_nothing(tmp_path: Path) -> None:
    work = tmp_path.resolve() / "work"
    work.mkdir()
    (work / ".git").write_text("gitdir: ../person/.ssh\n")
    for walls in box(tmp_path):
        assert walls.run("cat ../person/.ssh/id_ed25519").code != 0
        assert walls.run("echo x > ../person/.ssh/authorized_keys").code != 0


def test_git_in_a_folder_of_a_larger_repository(tmp_path: Path) -> None:
    top = tmp_path.resolve() / "top"
    (top / "part").mkdir(parents=True)
    (top / "else").write_text("else\n")
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    for walls in box(tmp_path, workspace=top / "part"):
        walls.ok("echo a > a; git add a; git commit -qm part; cat ../else; git status --short")
        assert walls.run("echo x > ../else").code != 0
        assert walls.run("git config a.b c").code != 0


def test_git_submodules(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    for name in ("lib", "work"):
        subprocess.run(["git", "init", "-q", str(base / name)], check=True)
        words = ["commit", "-q", "--allow-empty", "-m", "x"]
        subprocess.run([*git, "-C", str(base / name), *words], check=True)
    words = ["submodule", "--quiet", "add", str(base / "lib"), "lib"]
    subprocess.run([*git, "-C", str(base / "work"), *words], check=True, capture_output=True)
    for walls in box(tmp_path):
        walls.ok("cd lib && echo a > a && git add a && git commit -qm in && cd .. && git add lib")
        walls.ok("git commit -qm out && git submodule status")
        assert walls.run("echo x >> .git/modules/lib/config").code != 0
        assert walls.run("echo x > .git/modules/lib/hooks/post-commit").code != 0


def test_a_virtual_environment_and_a_wheel_without_network(walls: Box) -> None:
    wheel(walls.workspace / "dist")
    said = walls.ok(
        f"{PYTHON} -m venv .venv && .venv/bin/pip install -q --no-index dist/*.whl"
        " && .venv/bin/python -c 'import tidy; print(tidy.ANSWER)'"
    )
    assert said.strip() == "42"
    ended = walls.run(".venv/bin/pip install --retries 0 surely-not-there-either")
    assert ended.lack is not None
    assert ended.lack.reach == Reach(network=True)


def test_pip_from_an_index_with_the_network_granted(walls: Box, tmp_path: Path) -> None:
    index = tmp_path / "index"
    path = wheel(index / "simple" / "tidy")
    (path.parent / "index.html").write_text(f"<a href='{path.name}'>{path.name}</a>")
    (index / "simple" / "index.html").write_text("<a href='tidy/'>tidy</a>")
    with served(index) as port:
        line = (
            f"{PYTHON} -m venv .venv && PIP_CONFIG_FILE=/dev/null .venv/bin/pip install -q"
            f" --index-url http://127.0.0.1:{port}/simple tidy"
            " && .venv/bin/python -c 'import tidy; print(tidy.ANSWER)'"
        )
        refused = walls.run(line)
        assert refused.code != 0
        assert refused.lack is not None
        assert refused.lack.reach == Reach(network=True)
        assert walls.ok(line, network=True).strip() == "42"


def test_pytest_with_its_cache_and_temporary_folders(walls: Box) -> None:
    (walls.workspace / "test_it.py").write_text(
        "def test_tmp(tmp_path):\n    (tmp_path / 'x').write_text('y')\n"
        "def test_no():\n    assert False\n"
    )
    ended = walls.run(f"{PYTHON} -m pytest -q -p no:textual-snapshot test_it.py")
    assert ended.code == 1
    assert "1 failed, 1 passed" in ended.output
    assert ended.lack is None
    assert (walls.workspace / ".pytest_cache").is_dir()


@needs("node")
def test_nodes_own_test_runner(walls: Box) -> None:
    (walls.workspace / "a.test.js").write_text(
        "const t = require('node:test'); const http = require('node:http');\n"
        "t('serves', async () => { const s = http.createServer((q, r) => r.end('hi'));\n"
        "  await new Promise(f => s.listen(0, '127.0.0.1', f));\n"
        "  const a = await (await fetch(`http://127.0.0.1:${s.address().port}/`)).text();\n"
        "  s.close(); if (a !== 'hi') throw new Error(a); });\n"
    )
    assert "pass 1" in walls.ok("node --test")


@needs("npm")
def test_npm_test_and_an_install_from_a_folder(walls: Box) -> None:
    package = (
        '{"name": "a", "version": "1.0.0", "scripts": {"test": "node -e \\"process.exit(0)\\""}}'
    )
    (walls.workspace / "package.json").write_text(package)
    (walls.workspace / "lib").mkdir()
    (walls.workspace / "lib" / "package.json").write_text('{"name": "lib", "version": "1.0.0"}')
    walls.ok(
        "npm test --silent && npm install --silent --no-audit ./lib && test -e node_modules/lib"
    )
    walls.ok("npm pack --silent && tar -tzf a-1.0.0.tgz")


@needs("make")
@needs("gcc")
def test_make_and_a_compiler(walls: Box) -> None:
    (walls.workspace / "a.c").write_text(
        '#include <stdio.h>\nint main(){puts("built");return 0;}\n'
    )
    (walls.workspace / "Makefile").write_text("a: a.c\n\tgcc -O1 -o $@ $<\ntest: a\n\t./a\n")
    assert "built" in walls.ok("make -j2 test")


@needs("cargo")
def test_cargo(walls: Box) -> None:
    if walls.run("cargo --version").code:
        pytest.skip("cargo needs more than is installed here")
    walls.ok("cargo init -q --name a --vcs none . && cargo build -q --offline && ./target/debug/a")
    (walls.workspace / "src" / "main.rs").write_text("#[test]\nfn t() {}\nfn main() {}\n")
    assert "1 passed" in walls.ok("cargo test --offline 2>&1")


def test_a_server_and_its_client_in_one_command(walls: Box) -> None:
    (walls.workspace / "page").write_text("hello from inside\n")
    client = (
        "import time, urllib.request as u\n"
        "for _ in range(3000):\n"
        "    try: print(u.urlopen('http://127.0.0.1:8123/page').read().decode()); break\n"
        "    except OSError: time.sleep(0.02)\n"
    )
    (walls.workspace / "client.py").write_text(client)
    said = walls.ok(
        f"{PYTHON} -m http.server -b 127.0.0.1 8123 >log 2>&1 & {PYTHON} client.py; kill %1"
    )
    assert "hello from inside" in said


def test_files_of_all_kinds(walls: Box) -> None:
    walls.ok("mktemp -d; echo x > /tmp/kept; echo y > ~/.cache_of_something; mkfifo p; ln -s a b")
    walls.ok("test -e /tmp/kept && test -e ~/.cache_of_something && test -e /var/tmp/kept")
    walls.ok("mkdir -p a/b && echo x > a/b/c && tar -czf a.tgz a && cp -r . /tmp/copy && rm -r a")
    walls.ok("tar -xzf a.tgz && test -e a/b/c && chmod 600 a/b/c && mv a c && rm -rf c")
    line = "import sqlite3; d = sqlite3.connect('x.db'); d.execute('create table t(a)'); d.commit()"
    walls.ok(f'{PYTHON} -c "{line}"')
    walls.ok(f"{PYTHON} -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, 2]))'")
    walls.ok("date; id; hostname; locale; df . ; ps aux; uname -a; nproc; getent passwd root")
    assert not Path("/tmp/kept").exists()
    assert not (walls.user_home / ".cache_of_something").exists()


@pytest.mark.parametrize(
    "name", ["with space", "line\nbreak", "ünï", "-dash", b"\xff\xfe", "a$b'c\"d"]
)
def test_workspaces_with_names_of_all_kinds(name: str | bytes, tmp_path: Path) -> None:
    work = tmp_path.resolve() / os.fsdecode(name)
    for walls in box(tmp_path, workspace=work):
        walls.ok("git init -q . && echo x > file && cat file && git add file && git commit -qm x")
        assert (work / "file").read_text() == "x\n"
        assert sorted(os.listdir(work)) == [".git", "file"]
        assert walls.run("echo x > .envrc").code != 0


def test_a_workspace_in_the_home_and_one_around_it(tmp_path: Path) -> None:
    inner = tmp_path.resolve() / "person" / "code" / "app"
    for walls in box(tmp_path / "1", workspace=tmp_path.resolve() / "1" / "person" / "app"):
        walls.ok("echo x > file && ls ..")
        assert walls.run("cat ../.ssh/id_ed25519 || cat ../diary").code != 0
    around = tmp_path.resolve() / "2"
    for walls in box(tmp_path / "2", workspace=around):
        walls.ok("echo x > file && cat person/diary && test -d person/.ssh")
        assert walls.run("cat person/.ssh/id_ed25519").code != 0
        assert walls.run("echo x > person/.ssh/authorized_keys").code != 0
        assert walls.run("echo x >> person/.gitconfig").code != 0
    assert not inner.exists()


def test_folders_that_are_granted(walls: Box) -> None:
    cache, fresh = walls.outside, walls.outside.parent / "fresh" / "cache"
    refused = walls.run(f"echo x > {cache}/new")
    assert refused.code != 0
    assert refused.lack is not None
    assert refused.lack.reach == Reach(folders=(cache,))
    walls.ok(f"echo x > {cache}/new && echo x > {fresh}/new", cache, fresh)
    assert (fresh / "new").read_text() == "x\n"


def test_the_masks_can_still_be_cleaned_around(walls: Box) -> None:
    """Placeholders are folders that git does not see and that go with the command."""
    walls.ok(
        "git init -q . && echo a > a && git add -A && git commit -qm a && git stash -qu || true"
    )
    said = walls.ok("git status --short --untracked-files=all; git add -A; git ls-files")
    assert said == "a\n"
    assert sorted(os.listdir(walls.workspace)) == [".git", "a"]


def test_the_same_on_landlock(tmp_path: Path) -> None:
    for walls in box(tmp_path, "landlock"):
        wheel(walls.workspace / "dist")
        walls.ok("git init -q . && echo a > a && git add a && git commit -qm a && git status")
        walls.ok(f"{PYTHON} -m venv .venv && .venv/bin/pip install -q --no-index dist/*.whl")
        walls.ok("mktemp; echo x > ~/note; mkdir d; mv a d/; rm -r d; ls -la > /dev/null")
        refused = walls.run(f"echo x > {walls.outside}/new")
        assert refused.lack is not None
        assert refused.lack.reach == Reach(folders=(walls.outside,))
        walls.ok(f"echo x > {walls.outside}/new", walls.outside)
