#!/bin/sh
# Pins every dependency with hashes for every platform; run by `make lock`, needs `uv` on PATH.
set -eu
cd "$(dirname "$0")/.."
pin() { uv pip compile --no-config --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-emit-find-links --no-header --no-annotate --quiet "$@"; }
pin pyproject.toml -o requirements/run.lock
pin pyproject.toml --group dev -o requirements/dev.lock
pin --no-deps requirements/llama.in -o requirements/llama.lock
pin requirements/build.in -o requirements/build.lock
