#!/usr/bin/env bash
# Installs Ruby through apt where it is missing, for the tests of examples/workers. Python, Node and a shell are not
# installed: their tests skip loudly without them, and fail in CI. Where Ruby can't be installed, or takes more than 30 s,
# that is said, and its tests skip; in CI it has five minutes, and else the build fails.
set -euo pipefail

if command -v ruby >/dev/null; then exit 0; fi

limit=30
if [[ -n ${CI:-} ]]; then limit=300; fi

skip() {
  if [[ -n ${CI:-} ]]; then
    echo "install-languages: $1: CI needs Ruby for the tests of workers." >&2
    exit 1
  fi
  echo "install-languages: $1: the tests of workers in Ruby will be SKIPPED." >&2
  exit 0
}

command -v apt-get >/dev/null || skip "there is no Ruby on the PATH, and no apt-get"
[[ $(id -u) == 0 ]] || command -v sudo >/dev/null || skip "apt-get needs root, and there is no sudo"
root() {
  if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

echo "install-languages: installing Ruby through apt"
apt() {
  root env DEBIAN_FRONTEND=noninteractive timeout "$limit" apt-get -qq "$@" </dev/null
}
apt update || skip "apt-get update failed, or took too long"
apt install --yes --download-only --no-install-recommends ruby >/dev/null || skip "apt-get could not fetch Ruby, or took too long"
# From here on it is let finish: an install that is cut off leaves apt in need of repair.
root env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends ruby </dev/null >/dev/null ||
  skip "apt-get could not install Ruby"
command -v ruby >/dev/null || skip "apt-get installed Ruby, but it is not on the PATH"
