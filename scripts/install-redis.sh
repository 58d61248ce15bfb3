#!/usr/bin/env bash
# Installs redis-server through apt, unless redis-server or valkey-server is on
# the PATH. The tests start servers of their own, so the package's service is
# neither started nor enabled.
set -euo pipefail

for server in redis-server valkey-server; do
  if command -v "$server" >/dev/null; then exit 0; fi
done

fail() {
  echo "install-redis: $1." >&2
  echo "install-redis: install redis-server (6.2.7 or newer) or valkey-server and put it on the PATH." >&2
  exit 1
}

command -v apt-get >/dev/null || fail "neither redis-server nor valkey-server is on the PATH, and there is no apt-get"
root() {
  if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}
[[ $(id -u) == 0 ]] || command -v sudo >/dev/null || fail "apt-get needs root, and there is no sudo"

echo "install-redis: installing redis-server through apt"

# Packages ask this file whether they may start services. One that exists is
# the administrator's and stays.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  trap 'root rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | root tee "$policy" >/dev/null
  root chmod 755 "$policy"
fi

apt() {
  root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null
}
apt update
apt install --yes --no-install-recommends redis-server >/dev/null

if [[ -d /run/systemd/system ]]; then
  root systemctl disable --quiet --now redis-server
fi
command -v redis-server >/dev/null || fail "apt-get installed redis-server, but it is not on the PATH"
