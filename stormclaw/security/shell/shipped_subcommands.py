"""The shipped list, second part: programs whose first operand chooses what they do."""

from __future__ import annotations

from collections.abc import Mapping

from stormclaw.security.shell.family import Family as Family
from stormclaw.security.shell.family import family as _family
from stormclaw.security.shell.programs import entry, words
from stormclaw.security.shell.shipped_families import MORE_FAMILIES

_INDEX = (
    "-i --index-url --extra-index-url -f --find-links --trusted-host --proxy --index "
    "--default-index --registry"
)
_NODE = _family(
    low="ls list outdated view info why explain root bin prefix ping",
    medium="*",
    high="publish unpublish login logout adduser token owner access team org profile hook star "
    "config set get deprecate dist-tag set-script edit explore",
    runs="exec x dlx node",
    deep="run run-script",
    writes="--prefix -C --dir --cwd",
    texts="-w --workspace --filter",
    bad="--script-shell -g --global --location --node-options --userconfig --globalconfig "
    + _INDEX,
)
_PIP = _family(
    low="list show freeze check inspect debug help",
    medium="install uninstall download wheel hash index cache sync compile tree",
    high="config",
    values="-r --requirement -c --constraint -e --editable",
    writes="-t --target --prefix --root -d --dest --src --log --cache-dir --report",
    texts="--python",
    bad=f"{_INDEX} --user --break-system-packages --python --install-option --global-option",
)
_CONTAINER = _family(
    low="ps images logs inspect version info top stats port history events search system",
    medium="build compose start stop restart pull network volume tag buildx context diff wait "
    "rm rmi kill image container builder rename update pause unpause",
    high="push login logout cp commit save load import export plugin swarm run exec "
    "create attach service secret stack node trust",
    deep="compose network volume buildx context system image container",
    values="-f --file --env-file --project-directory",
    texts="-t --tag -p --project-name --target --build-arg -n --tail --since",
    bad="-H --host --config -c --context --tlscacert --privileged --allow "
    "--security-opt -v --volume --mount",
)
_BUNDLE = _family(
    low="list show info check outdated",
    medium="*",
    high="config plugin open gem console",
    runs="exec",
)

FAMILIES: Mapping[str, Family] = {
    "npm": _NODE,
    "pnpm": _NODE,
    "yarn": _NODE,
    "bun": _family(
        low="pm outdated", medium="*", high="publish upgrade repl", runs="exec x", deep="run",
        values="--cwd", texts="--filter",
        bad=f"-e --eval -p --print -r --preload -g --global {_INDEX}",
    ),
    "pip": _PIP,
    "uv": _family(
        low="tree version help",
        medium="add remove sync lock venv init build export pip python tool cache format",
        high="publish self auth",
        runs="run",
        deep="pip python tool cache run",
        values="--directory --project -r --requirement --requirements --env-file --cache-dir",
        texts="--with --extra --group -p --python --package --only-group --no-group --from -m "
        "--module --with-editable",
        bad=f"{_INDEX} --config-file --allow-insecure-host",
    ),
    "poetry": _family(low="show check version about env", medium="*", runs="run",
                      high="config publish self source", values="-C -P --directory --project"),
    "pdm": _family(low="list info show outdated", medium="*", runs="run",
                   high="config publish self plugin", values="-p --project"),
    "hatch": _family(low="version status", medium="*", runs="run", high="config publish self"),
    "pipenv": _family(low="graph check", medium="*", runs="run", high="shell open"),
    "pipx": _family(low="list", texts="--spec --python --pip-args --suffix",
                    medium="install upgrade inject uninstall", runs="run",
                    high="runpip"),
    "conda": _family(low="list info search", medium="install create update remove env",
                     high="config init", runs="run", texts="-n --name"),
    "cargo": _family(
        low="tree metadata search locate-project pkgid version help",
        medium="build b check c test t run r bench fmt clippy doc d add remove rm update fetch "
        "clean new init install uninstall fix nextest expand audit deny outdated vendor generate-"
        "lockfile llvm-cov insta sqlx machete udeps",
        high="publish login logout yank owner",
        values="--manifest-path --target-dir -C --path --out-dir",
        texts="-p --package --features -F --bin --example --test --bench --target --profile -j "
        "--message-format --exclude --color",
        bad="--config --git --registry --index",
    ),
    "rustup": _family(low="show which doc check", medium="component target toolchain update",
                      high="self set override default", runs=""),
    "go": Family(
        entry("medium", single_dash=True, subcommands=True, values="-C -modfile",
              texts="-run -bench -count -timeout -tags -ldflags -gcflags -coverprofile -p -cpu "
                    "-mod",
              writes="-o", high="-exec -toolexec -vettool -overlay -w -u -fuzz-exec"),
        words("version env list doc help"),
        words("build test run vet fmt mod get install generate clean tool work fix"),
        words("bug telemetry"), words(""), words("mod work tool"),
    ),
    "docker": _CONTAINER, "podman": _CONTAINER, "docker-compose": _family(
        low="ps logs config images top version", medium="up down build start stop restart pull rm "
        "kill",
        high="run exec push", values="-f --file --env-file --project-directory",
        texts="-p --project-name --profile"),
    "gh": _family(
        low="status help version", exact=("auth status",),
        medium="pr issue run repo workflow release search browse label project api gist",
        high="auth secret ssh-key gpg-key alias extension config variable codespace attestation",
        deep="pr issue run repo workflow release gist search label",
        texts="-R --repo -t --title -b --body -l --label -B --base -H --head -a -L --limit --json "
        "-q --jq -s --state --search -X --method -f -F --field --raw-field --reviewer",
        values="--body-file --input",
        bad="--admin",
    ),
    "gradle": _family(medium="*", values="-p --project-dir -b --build-file",
                      bad="-I --init-script", single_dash=True),
    "mvn": _family(medium="*", values="-f --file", bad="-s --settings -gs -t --toolchains",
                   single_dash=True),
    "bundle": _BUNDLE,
    "gem": _family(low="list search info which environment", medium="install build uninstall",
                   high="push owner signin yank sources",
                   texts="-v --version", bad="-s --source -P --trust-policy --config-file"),
    "rake": _family(medium="*", values="-f --rakefile", bad="-e --execute -p -E"),
    "rails": _family(medium="*", high="runner r console c dbconsole credentials"),
    "composer": _family(low="show info outdated validate why", medium="*",
                        high="config global exec self-update", values="-d --working-dir"),
    "dotnet": _family(medium="build test run restore clean format add remove new publish list ef "
                      "watch sln",
                      high="nuget tool workload",
                      deep="ef"),
    "swift": _family(medium="build test run package"),
    "xcodebuild": _family(medium="*"),
    "mix": _family(medium="*", high="archive escript hex run eval do cmd"),
    "cabal": _family(medium="build test run repl bench check configure update", runs="exec"),
    "stack": _family(medium="build test run bench setup clean", runs="exec", high="eval ghci"),
    "deno": _family(low="info doc", medium="run test lint fmt check task bench cache compile add",
                    high="eval repl upgrade install publish"),
    "flutter": _family(low="doctor devices", medium="*", high="config upgrade channel"),
    "dart": _family(medium="*", high="pub"),
    "brew": _family(low="list info search outdated deps leaves doctor config"),
    "apt": _family(low="list search show policy"),
    "apt-cache": _family(low="search show policy depends"),
    "systemctl": _family(low="status is-active is-enabled list-units"),
    "pre-commit": _family(medium="run install uninstall autoupdate clean gc migrate-config "
                          "install-hooks validate-config sample-config", high="try-repo",
                          values="-c --config", deep="run"),
    "openssl": _family(low="version ciphers list prime help",
                       medium="rand dgst x509 verify req genrsa ecparam genpkey pkey rsa asn1parse "
                       "crl sha256 sha1 md5", values="-in -CAfile -key -extfile",
                       writes="-out -keyout", texts="-days -subj -newkey -name -algorithm",
                       bad="-engine -provider -provider-path -config -rand -writerand -passin "
                       "-passout", single_dash=True),
    "tmux": _family(low="ls list-sessions list-windows list-panes"),
    "screen": _family(),
    "kubectl": _family(low="config/current-context config/get-contexts config/get-clusters "
                       "config/view", deep="config",
                       medium="get describe logs version explain top api-resources api-versions "
                       "cluster-info",
                       texts="-n --namespace -l -o -c --context --cluster --user --tail --since "
                       "-v --v --request-timeout --selector --output --container",
                       bad="--kubeconfig --token --server -s --as --as-group --raw "
                       "--client-key --password --username"),
    **dict.fromkeys(("terraform", "tofu"), _family(
        medium="fmt validate version providers graph state/list workspace/list workspace/show",
        values="-chdir", deep="state workspace")),
    "helm": _family(low="version list status history", medium="template lint get show dependency",
                    bad="--post-renderer --kubeconfig --kube-token --kube-apiserver"),
    "prisma": _family(medium="generate format validate migrate db init studio",
                      bad="--force-reset --accept-data-loss", deep="migrate db"),
    "crontab": _family(bad="-r -e -i -u"),
    **MORE_FAMILIES,
}  # fmt: skip
"""Every program whose grants name a subcommand; what no set names is on no list."""

PACKAGE_RUNNERS = frozenset({"npx", "bunx", "uvx", "pnpx"})
"""Run a program out of a package, downloading it if need be: medium."""
