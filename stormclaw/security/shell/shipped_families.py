"""The shipped list, third part: version managers, cloud, scanners, builders with subcommands."""

from __future__ import annotations

from collections.abc import Mapping

from stormclaw.security.shell.family import Family, family

_VERSIONS = "versions version which whence root"
_KUBE = "--kubeconfig --token -s --server --as --as-group --as-uid --client-key --raw"

MORE_FAMILIES: Mapping[str, Family] = {
    "nvm": family(low="ls list current which version ls-remote", medium="use"),
    "fnm": family(low="list ls current list-remote", medium="use"),
    **dict.fromkeys(("pyenv", "rbenv", "nodenv", "goenv", "jenv"), family(
        low=f"{_VERSIONS} commands shims", medium="local",
        exact=("install --list", "install -l"))),
    "tfenv": family(low="list version-name"),
    "asdf": family(low="list current which where version latest info plugin/list",
                   medium="local set", exact=("plugin list",)),
    "mise": family(low="ls list current which where doctor version ls-remote outdated",
                   bad="-C --cd -E --env"),
    "volta": family(low="list which", medium="pin"),
    "sdk": family(low="list current version", medium="use"),
    "glab": family(
        medium="mr/list mr/view mr/diff issue/list issue/view ci/list ci/status ci/view "
        "release/list release/view label/list repo/view", exact=("auth status",),
        texts="-R --repo -g --group --per-page -P", deep="mr issue ci release label repo"),
    "aws": family(
        medium="sts/get-caller-identity s3/ls configure/list s3api/list-buckets "
        "ec2/describe-instances ec2/describe-vpcs ec2/describe-subnets ec2/describe-regions "
        "ec2/describe-security-groups ec2/describe-images rds/describe-db-instances "
        "eks/list-clusters ecs/list-clusters ecs/list-services logs/describe-log-groups "
        "cloudformation/list-stacks cloudformation/describe-stacks cloudformation/validate-"
        "template", deep="sts s3 s3api ec2 rds eks ecs logs cloudformation configure",
        texts="--region --profile --output --query --filters --max-items --bucket --page-size "
        "--stack-name --instance-ids --color",
        bad="--endpoint-url --ca-bundle --no-verify-ssl --debug --cli-input-json "
        "--cli-input-yaml"),
    "gcloud": family(
        medium="projects/list auth/list config/list config/get-value",
        deep="projects auth config",
        texts="--project --format --filter --limit --region --zone",
        bad="--impersonate-service-account --access-token-file --account --configuration "
        "--flags-file --log-http", exact=("info", "version", "config list", "auth list")),
    "az": family(medium="account/show account/list group/list version",
                 texts="-o --output --query --subscription -g --resource-group",
                 bad="--debug", deep="account group"),
    "kind": family(medium="get/clusters get/nodes version", texts="--name", deep="get"),
    "minikube": family(low="status version ip", medium="profile/list addons/list service/list",
                       texts="-p --profile -o --output", deep="profile addons service"),
    "kustomize": family(medium="build version", bad="--enable-exec --enable-alpha-plugins "
                        "--enable-helm --helm-command --load-restrictor", writes="-o --output"),
    "packer": family(medium="validate fmt version inspect", values="-var-file", texts="-var",
                     single_dash=True),
    "cdk": family(medium="synth synthesize ls list diff doctor", writes="-o --output",
                  bad="-a --app --build -p --plugin --role-arn -r --proxy",
                  texts="-c --context --profile"),
    "sam": family(medium="build validate", values="-t --template --config-file",
                  writes="-b --build-dir", bad="--hook-name --container-env-var --parameter-"
                  "overrides"),
    "serverless": family(medium="print package info"), "sls": family(medium="print package info"),
    "act": family(exact=("-l", "--list")),
    "wrangler": family(medium="dev types", values="-c --config", texts="-e --env --port",
                       bad="--remote -r --tunnel"),
    "firebase": family(medium="emulators:start"),
    "supabase": family(medium="status start stop migration/list migration/new gen/types",
                       bad="--db-url --linked --project-id --workdir", deep="migration gen"),
    "netlify": family(medium="build dev status", bad="-l --live -c --command --auth --filter"),
    "vercel": family(medium="build dev", bad="-t --token -A --local-config -Q --global-config"),
    "lerna": family(medium="run list ls la ll changed diff build bootstrap link info",
                    texts="--scope --ignore --concurrency --since", bad="--npm-client --registry"),
    "changeset": family(medium="add init status version pre", exact=("",)),
    "drizzle-kit": family(medium="generate check up export", values="--config",
                          texts="--name --dialect", writes="--out"),
    "nuxi": family(medium="dev build generate prepare typecheck info init analyze cleanup preview "
                   "test add", bad="--public --tunnel"),
    "expo": family(medium="start install lint prebuild doctor config export run:android run:ios "
                   "customize", bad="--tunnel"),
    "react-native": family(medium="start doctor config info bundle run-android run-ios "
                           "log-android log-ios", writes="--bundle-output --assets-dest"),
    "ionic": family(medium="serve build info generate"),
    "cap": family(medium="sync copy doctor ls update"),
    "docusaurus": family(medium="build start serve clear swizzle write-translations"),
    "gatsby": family(medium="build develop serve clean info"),
    "hugo": family(medium="server serve build list new version env config check gen", exact=("",),
                   values="-s --source --config", writes="-d --destination --cacheDir"),
    "jekyll": family(medium="build serve doctor new clean", values="-s --source --config",
                     writes="-d --destination"),
    "mdbook": family(medium="build test clean init serve", writes="-d --dest-dir"),
    "zola": family(medium="build check serve", writes="-o --output-dir"),
    "semgrep": family(medium="scan ci test validate show *", high="login logout publish lsp "
                      "install-semgrep-pro mcp", values="-c --config -f", writes="-o --output",
                      texts="-e --pattern -l --lang --severity --exclude --include"),
    "gitleaks": family(medium="detect protect dir git version", values="-c --config -s --source "
                       "-b --baseline-path", writes="-r --report-path", texts="-f --log-opts",
                       bad="--report-template"),
    "trivy": family(medium="fs filesystem repo config conf image rootfs sbom version",
                    texts="-s --severity -f --format --scanners --skip-dirs --skip-files "
                    "--exit-code --timeout", writes="-o --output", values="-c --config",
                    bad="--server --token -t --template --config-check --config-policy --policy"),
    "snyk": family(medium="test code/test iac/test container/test", deep="code iac container",
                   texts="--severity-threshold --org", bad="--report -d --debug"),
    "twine": family(medium="check"),
    "bump2version": family(medium="*", values="--config-file"),
    "goreleaser": family(medium="check build healthcheck", values="-f --config", bad="--hooks"),
    "rebar3": family(medium="compile eunit ct dialyzer xref deps tree clean edoc"),
    "pod": family(low="env outdated", medium="install update", values="--project-directory"),
    "nix": family(medium="flake/show flake/metadata fmt", deep="flake",
                  bad="--impure --option --extra-experimental-features --override-input --expr "
                  "--builders --post-build-hook --store --substituters"),
    "tflint": family(medium="*", values="-c --config --chdir", bad="--init --act-as-bundled-plugin "
                     "--act-as-worker"),
    "caddy": family(medium="validate fmt adapt version", values="-c --config"),
    "promtool": family(medium="check test"),
    "vagrant": family(medium="status version validate global-status"),
    "pm2": family(exact=("list", "ls", "status")),
    "ollama": family(low="list ps show"),
    "xcrun": family(exact=("simctl list", "simctl list devices", "--show-sdk-path")),
    "nvidia-smi": family(exact=("", "-L")),
    "lefthook": family(medium="run validate dump version"),
    "flit": family(medium="build"),
    "git-cliff": family(medium="*", writes="-o --output -p --prepend", values="-c --config",
                        bad="--exec --github-token"),
}  # fmt: skip
"""Programs whose grants name a subcommand; what no set names publishes, executes or is unknown."""
