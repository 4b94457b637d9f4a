"""The shipped list: programs that only look, and the tools of everyday development."""

from __future__ import annotations

from collections.abc import Mapping

from stormclaw.security.shell.programs import Program, entry
from stormclaw.security.shell.shipped_tools import MORE_TOOLS


def _many(names: str, program: Program) -> dict[str, Program]:
    return dict.fromkeys(names.split(), program)


HARMLESS: Mapping[str, Program] = {
    **_many(
        "pwd echo true false : seq sleep expr basename dirname whoami uname id groups arch nproc "
        "uptime free locale getconf tty printenv which type whereis dirs jobs wait times set "
        "shopt exit return break continue shift umask ulimit read getopts unset caller disown help "
        "clear tput vmstat iostat netstat yes cal factor numfmt logname users df "
        "lscpu ps pgrep sw_vers "
        "local declare typeset readonly export let lsb_release lsof",
        entry("low", "text"),
    ),
    **_many("ls stat test [ readlink realpath du eza exa lsd cd pushd popd", entry("low", "names")),
    "journalctl": entry("medium", "text", high="--vacuum-size --vacuum-time --vacuum-files "
                                              "--rotate --flush --file -D --directory --root"),
    "top": entry("low", "text"),
    "ip": entry("low", "text", high="-b -batch -n -netns -N -Numeric", single_dash=True),
    "ss": entry("low", "text", high="-K --kill -N --net -D --diag -F --filter"),
    "tree": entry("low", "names", texts="-I -P -L", writes="-o"),
    "file": entry("low", values="-f -m --files-from --magic-file", high="-C --compile"),
    **_many(
        "cat wc nl tac rev fold fmt join expand unexpand od hexdump strings "
        "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum shasum md5 cksum b2sum sum base64 "
        "base32 cmp comm diff colordiff zcat bzcat xzcat zless nm objdump readelf size "
        "cloc tokei scc shellcheck more look pr tsort hd bc",
        entry("low", high="--pager"),
    ),
    **_many("head tail", entry("low", texts="-n -c --lines --bytes -s --pid --sleep-interval",
                              high="--pager")),
    "cut": entry("low", texts="-d -f -c -b --delimiter --fields --characters --bytes "
                              "--output-delimiter"),
    "paste": entry("low", texts="-d --delimiters"),
    "column": entry("low", texts="-s -o -c -N -H -R -T --separator --output-separator"),
    "compgen": entry("low", "text", high="-C -F"),
    **_many("grep egrep fgrep zgrep pcregrep ag ugrep",
            entry("low", "first-text", values="-f --file --exclude-from",
                  texts="-e --regexp -m -A -B -C --include --exclude --exclude-dir -d -D "
                        "--context --max-count --label --binary-files --ignore",
                  high="--pager --filter --view --save-config")),
    "rg": entry("low", "first-text", values="-f --file --ignore-file",
                texts="-e --regexp -g --glob -t --type -T --type-not -A -B -C -m -M -j -r -E "
                      "--max-count --context --sort --sortr --color --colors --iglob -d "
                      "--max-depth "
                      "--replace --type-add --encoding --max-columns --engine --threads",
                high="--pre --hostname-bin"),
    "sort": entry("low", texts="-k --key -t --field-separator -S --buffer-size --parallel "
                               "--batch-size --sort",
                  values="-T --temporary-directory --files0-from --random-source",
                  writes="-o --output", high="--compress-program"),
    "uniq": entry("low", "pair", texts="-f -s -w --skip-fields --skip-chars --check-chars"),
    "xxd": entry("low", "pair", texts="-c -g -l -s -o -n"),
    "tr": entry("low", "text"),
    "printf": entry("low", "text"),
    "date": entry("low", "text", texts="-d --date -r", values="-f --file --reference",
                  high="-s --set"),
    "hostname": entry("low", "write"),
    "jq": entry("low", "first-text", values="-L -f --from-file",
                texts="--indent --arg --argjson"),
    "yq": entry("low", "first-text", values="--from-file", texts="-o -p -I",
                medium="-i --inplace", high="-s --split-exp --split-exp-file"),
    "less": entry("low", texts="-p -x -b", values="-k -T", writes="-o -O --log-file"),
    "man": entry("low", "text", texts="-S -s", high="-P --pager -H --html --config-file "
                                                        "-C -l --local-file"),
    "shuf": entry("low", texts="-n -i --head-count --input-range", writes="-o --output"),
    "iconv": entry("low", texts="-f -t --from-code --to-code", writes="-o --output"),
    "bat": entry("low", texts="-l --language --style -r --line-range --theme --color -m -H",
                 high="--pager --generate-config-file"),
    "fd": entry("low", "first-text", texts="-e -t -E -d --type --extension --exclude --max-depth",
                high="-x -X --exec --exec-batch"),
    "awk": entry("low", "first-text", texts="-F -v --field-separator --assign",
                 high="-f --file -i --include -l --load -E --exec -e --source -p --profile -o "
                      "--pretty-print -D --debug -d --dump-variables"),
    "sed": entry("low", "first-text", texts="-e --expression -l --line-length", high="-f --file"),
    "find": entry(
        "low", "names", single_dash=True,
        texts="-name -iname -path -ipath -wholename -regex -iregex -type -size -mtime -mmin -atime "
              "-ctime -cmin -amin -perm -user -group -maxdepth -mindepth -printf -links -inum "
              "-fstype -regextype -lname -ilname -uid -gid -used -context -D",
        values="-newer -anewer -cnewer -samefile -files0-from",
        writes="-fprint -fprint0 -fls -fprintf",
    ),
}  # fmt: skip
"""Looks and tells: low, unless an option says otherwise."""

AWKS = frozenset({"gawk", "mawk", "nawk"})
SEDS = frozenset({"gsed"})

DEVELOPMENT: Mapping[str, Program] = {
    **_many(
        "tox nox coverage unittest mypy ruff black isort flake8 pylint pyright "
        "bandit vulture radon pydocstyle autopep8 yapf sphinx-build mkdocs alembic flask "
        "django-admin lint-imports hypothesis towncrier "
        "eslint prettier jest vitest mocha ava tsc vite webpack rollup esbuild next nuxt "
        "turbo nx playwright cypress tsx ts-node biome oxlint stylelint c8 nyc swc parcel astro "
        "rustc rustfmt clippy-driver gofmt goimports golangci-lint staticcheck "
        "ctest ninja meson scons automake autoconf autoreconf "
        "ar ranlib as clang-format clang-tidy cppcheck "
        "rspec rubocop phpunit php-cs-fixer phpstan ghc hlint ocaml dune ktlint detekt "
        "uvicorn gunicorn hypercorn daphne celery streamlit fastapi scrapy locust nodemon "
        "http-server live-server serve nest ng vue-cli-service storybook remix svelte-kit "
        "tailwindcss postcss sass less-plugin babel swagger-cli commitlint "
        "lint-staged knip madge depcheck size-limit typedoc jsdoc "
        "pyinstaller cython cythonize pyupgrade pyflakes pycodestyle pydoc pdoc pip-compile "
        "pip-sync pip-audit pipdeptree safety djlint sqlfluff dvc dbt great_expectations "
        "cargo-nextest wasm-pack trunk bacon just task mage air templ "
        "sqlc mockgen stringer wire swag dlv delve revive gosec ginkgo gotestsum "
        "sbt lein checkstyle spotbugs jar javadoc scalac scalafmt "
        "bazel bazelisk buck2 pants please ccache sccache conan vcpkg mold "
        "stack-clean elm elm-format purs spago gleam zls "
        "protoc buf doxygen hadolint yamllint markdownlint actionlint dot "
        "kill pdflatex latexmk pandoc jupyter",
        entry("medium", writes="-o --output --out --outfile"),
    ),
    **_many("pytest py.test", entry("medium", texts="-k -m --tb -W -n -p -o --maxfail --durations",
                                    values="-c --rootdir --confcutdir --basetemp")),
    **_many("cc gcc g++ c++ clang clang++ javac swiftc kotlinc nasm zig ld",
            entry("medium", writes="-o -MF", values="-I -L -include -isystem -d", single_dash=True,
                  high="-fplugin -wrapper -specs --specs -B -load")),
    **_many("mkdir touch rmdir truncate rimraf mkfifo unlink tee sponge",
            entry("medium", "write", texts="-m --mode -s --size -d -t", values="-r --reference")),
    **_many("patch gzip gunzip bzip2 bunzip2 xz unxz zstd lz4 strip",
            entry("medium", "write", texts="-p --strip", values="-i --input -d --directory",
                  writes="-o --output -r")),
    "unzip": entry("medium", texts="-x -P", writes="-d"),
    "chmod": entry("medium", "text-write", values="--reference"),
    **_many("ffmpeg convert magick", entry("medium", "last-write", single_dash=True)),
    **_many("cp ln install",
            entry("medium", "last-write", texts="-S --suffix -m --mode -o -g",
                  writes="-t --target-directory", high="--strip-program")),
    "mv": entry("medium", "write", texts="-S --suffix", writes="-t --target-directory"),
    "split": entry("medium", texts="-l -b -n -a -C --lines --bytes", high="--filter"),
    "mktemp": entry("medium", "write", values="-p --tmpdir"),
    "create": entry("medium", "write", texts="-t --template"),
    "zip": entry("medium", "write", texts="-i -x -P", values="-b",
                 high="-TT --unzip-command", single_dash=True),
    "tar": entry("medium", texts="--exclude --strip-components --transform --xform --mode --owner "
                                 "--group --format --label --blocking-factor -b",
                 values="-T --files-from -X --exclude-from",
                 writes="-f --file -C --directory",
                 high="--checkpoint-action --to-command -I --use-compress-program -F --info-script "
                      "--new-volume-script --rsh-command --rmt-command -P --absolute-names "
                      "--unlink-first --recursive-unlink --remove-files --to-stdout-command"),
    "make": entry("medium", "text", texts="-j -l -o -W --jobs", values="-f -C -I --file "
                  "--directory --include-dir --makefile", high="-E --eval", subcommands=True),
    "cmake": entry("medium", texts="-D -G -U --preset -T -A --target --config -j --parallel",
                   values="-S -B -C -P --build --install --prefix", high="-E", single_dash=False),
    "rsync": entry("medium", "last-write", texts="--exclude --include -f --filter",
                   values="--exclude-from --include-from --files-from",
                   high="-e --rsh --rsync-path --delete --delete-before --delete-after "
                        "--delete-during --delete-excluded --remove-source-files --daemon"),
    "sqlite3": entry("medium", "last-write", texts="-cmd -separator", values="-init",
                     high="-cmd -init", single_dash=True),
    "java": entry("medium", texts="-D", values="-cp -classpath -jar --class-path -p",
                  high="-agentpath -agentlib -javaagent", single_dash=True),
}  # fmt: skip
"""Builds, tests, formats, moves files about: medium."""


def shipped(name: str) -> Program | None:
    """The entry of a program that has no table of its own."""
    if name in AWKS:
        name = "awk"
    elif name in SEDS:
        name = "sed"
    elif name == "gmake":
        name = "make"
    elif name.startswith("create-"):
        return DEVELOPMENT["create"]
    return HARMLESS.get(name) or DEVELOPMENT.get(name) or MORE_TOOLS.get(name)
