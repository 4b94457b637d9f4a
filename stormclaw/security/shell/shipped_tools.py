"""The shipped list, fourth part: checkers, formatters and builders of single languages."""

from __future__ import annotations

from collections.abc import Mapping

from stormclaw.security.shell.programs import Program, entry


def _many(names: str, program: Program) -> dict[str, Program]:
    return dict.fromkeys(names.split(), program)


MORE_TOOLS: Mapping[str, Program] = {
    **_many("uuidgen pkg-config tldr lsblk lsusb lspci lsmod system_profiler jps duf "
            "c++filt", entry("low", "text")),
    **_many("dust onefetch", entry("low", "names")),
    **_many("hexyl zipinfo difft b3sum xxhsum xxh64sum gocloc gprof addr2line csvlook csvstat "
            "csvcut", entry("low")),
    "ack": entry("low", "first-text", values="-f --files-from",
                 texts="-m -A -B -C -g --max-count --after-context --before-context --context "
                       "--ignore-dir --ignore-directory --ignore-file --type -t --sort-files",
                 high="--pager --output --ackrc --bar --cathy --thpppt --man"),
    "xmllint": entry("medium", single_dash=True,
                     values="--schema --relaxng --schematron --dtdvalid --path -schema -relaxng",
                     texts="--xpath -xpath --pattern --encode -encode --maxmem",
                     writes="-o --output -output",
                     high="--shell -shell --noent -noent --xinclude -xinclude --loaddtd -loaddtd "
                          "--catalogs -catalogs --noxincludenode --dtdattr -dtdattr"),
    **_many("shfmt", entry("medium", texts="-i -ln -filename --indent --language-dialect",
                           single_dash=True)),
    "bats": entry("medium", texts="-f --filter --filter-tags -j --jobs",
                  values="-F --formatter --report-formatter --setup-suite-file",
                  writes="-o --output --gather-test-outputs-in",
                  high="--code-quote-style --parallel-binary-name"),
    **_many("ansible-lint yamlfmt bashate checkbashisms shellspec tfsec checkov terrascan "
            "kubeconform kubeval kube-linter kube-score dockle gitlint detect-secrets taplo "
            "terraform-docs check-jsonschema jsonlint typos",
            entry("medium", writes="-o --output", values="-c --config")),
    **_many("interrogate codespell docformatter pyroma check-manifest validate-pyproject deptry "
            "pyproject-build ty pytype basedpyright refurb xenon mutmut "
            "pip-licenses pipreqs darglint eradicate sphinx-apidoc cmake-format cmake-lint "
            "pydeps basedmypy autoflake flynt ssort pyrefly zuban",
            entry("medium", writes="-o --output --outdir --output-file -g --generate-badge",
                  values="-c --config")),
    "ptw": entry("medium", high="--onpass --onfail --onexit --beforerun --afterrun --runner --spool"
                                " --wait --now --ext"),
    "virtualenv": entry("medium", "write", texts="-p --python --prompt --seeder --creator",
                        values="--extra-search-dir",
                        high="--app-data --reset-app-data --activators --discovery"),
    **_many("svelte-check vue-tsc license-checker tap json-server tsdown unbuild rolldown rspack "
            "rsbuild microbundle tsd publint attw type-coverage depcruise dependency-cruiser jscpd "
            "sort-package-json syncpack manypkg ts-prune ts-unused-exports eslint_d dprint "
            "standard xo htmlhint lighthouse karma wdio testcafe nightwatch graphql-codegen "
            "openapi-typescript quicktype json2ts source-map-explorer bundlesize cspell alex "
            "textlint markdown-link-check remark linkinator pa11y ladle histoire vite-node "
            "vitepress vuepress eleventy nodemon-lint mmdc wait-on "
            "markdownlint-cli2 dumi umi ember vue qunit uvu tape size-limit-check pretty-quick "
            "electron-vite wxt plasmo rslib contentlayer2 oxfmt rome",
            entry("medium", writes="-o --output --out --outfile --outdir --out-dir --output-file",
                  values="-c --config", high="-e --eval --npm-path --exec --hook --on-success")),
    "tsup": entry("medium", writes="-d --out-dir --outDir", values="--config",
                  texts="--format --target --env --loader", high="--onSuccess --on-success"),
    **_many("npm-check-updates ncu",
            entry("medium", texts="-t --target -f --filter -x --reject --dep --format -p "
                                  "--packageManager", values="--packageFile --cwd",
                  high="-u --upgrade -g --global -r --registry -d --doctor --doctorInstall "
                       "--doctorTest -i --interactive --prefix --configFilePath --proxy")),
    **_many("govulncheck gofumpt errcheck ineffassign misspell golines gocyclo rust-analyzer "
            "bindgen cbindgen wasm-bindgen golint gci deadcode nilaway go-critic gocritic",
            entry("medium", writes="-o --output --out-dir --base-formatter",
                  high="--base-formatter -base-formatter")),
    **_many("ktfmt google-java-format javap jdeps swiftlint swiftformat xcbeautify xcpretty "
            "cpplint flawfinder lcov genhtml gcov gcovr llvm-cov llvm-profdata include-what-you-use"
            " iwyu ctags indent astyle uncrustify bison flex gperf re2c swig qmake "
            "ormolu fourmolu stylish-haskell hpack weeder hindent cabal-fmt "
            "nixfmt nixpkgs-fmt alejandra statix deadnix ast-grep",
            entry("medium", writes="-o --output --output-file -f -outdir --outdir -outputdir",
                  high="--gcov-tool --gcov-executable --options --init-expr --onestage -J "
                       "--preprocess --lint-command --rc --config-file --tempdir")),
    "ant": entry("medium", "text", values="-f -file -buildfile", single_dash=True, subcommands=True,
                 high="-lib -logger -listener -inputhandler -main -cp -propertyfile"),
    **_many("standardrb erblint erb_lint haml-lint slim-lint brakeman reek rubycritic srb steep "
            "yard rdoc cucumber standard bundler-audit bundle-audit fasterer",
            entry("medium", writes="-o --output --out", high="-r --require -e --load -I")),
    **_many("pint psalm pest phpcs phpcbf rector infection phpmd deptrac ecs phan paratest codecept"
            " behat phpbench parallel-lint", entry("medium", values="-c --config --bootstrap",
                                                   high="-d --php --initial-tests-php-options")),
    **_many("dos2unix unix2dos", entry("medium", "write")),
    **_many("pdfinfo mediainfo ffprobe identify", entry("medium")),
    "pdftotext": entry("medium", "last-write", texts="-f -l -r -enc", single_dash=True),
    "gron": entry("medium"),
    "asciidoctor": entry("medium", writes="-o -D --out-file --destination-dir",
                         high="-r --require -I --load-path -T --template-dir"),
}  # fmt: skip
"""Single programs without subcommands; operands are files of the project."""
