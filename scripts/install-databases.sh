#!/usr/bin/env bash
# Installs the servers of PostgreSQL and MariaDB through apt where they are missing. The tests start servers of their
# own, so the packages' services are neither started nor enabled, and PostgreSQL's package makes no cluster. Where they
# can't be installed that is said, and the tests that need them skip; in CI the build fails.
#
# gcc is not installed: without it the race detector does not build, nor the SQLite driver mattn/go-sqlite3.
set -euo pipefail

compiler=${CC:-$(go env CC 2>/dev/null || true)}
compiler=${compiler%% *} # without its options
if ! command -v "${compiler:-gcc}" >/dev/null; then
  echo "install-databases: there is no C compiler (${compiler:-gcc}): go test -race needs one, and so does the SQLite driver mattn/go-sqlite3. Install gcc (on Debian and Ubuntu: apt-get install gcc libc6-dev)." >&2
  exit 1
fi

# As internal/devsql looks: Debian keeps PostgreSQL's server off the PATH, and MariaDB's on root's only.
has() {
  local dir
  for dir in "${PATH_DIRS[@]}" "${@:2}"; do
    if [[ -x $dir/$1 ]]; then return 0; fi
  done
  return 1
}
IFS=: read -r -a PATH_DIRS <<<"$PATH"
has_postgres() { has postgres /usr/lib/postgresql/*/bin && has initdb /usr/lib/postgresql/*/bin; }
has_mariadb() {
  local sbin=(/usr/sbin /usr/local/sbin /usr/libexec)
  { has mariadbd "${sbin[@]}" || has mysqld "${sbin[@]}"; } && has mariadb-install-db "${sbin[@]}"
}

packages=()
has_postgres || packages+=(postgresql)
has_mariadb || packages+=(mariadb-server)
if [[ ${#packages[@]} == 0 ]]; then exit 0; fi

give_up() {
  echo "install-databases: $1." >&2
  echo "install-databases: missing: ${packages[*]}. Install PostgreSQL's and MariaDB's servers (PostgreSQL 15, MariaDB 10.11)." >&2
  if [[ -n ${CI:-} ]]; then exit 1; fi
  echo "install-databases: the tests that need them will be SKIPPED." >&2
  exit 0
}

command -v apt-get >/dev/null || give_up "there is no apt-get"
[[ $(id -u) == 0 ]] || command -v sudo >/dev/null || give_up "apt-get needs root, and there is no sudo"
root() {
  if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

echo "install-databases: installing ${packages[*]} through apt, which may take a minute"

# Files that exist are the administrator's and stay.
made=()
remove_made() {
  local file
  for file in "${made[@]}"; do
    root rm -f "$file"
    if [[ -e $file.ucf-dist ]]; then root mv "$file.ucf-dist" "$file"; fi # what the package would have put there
  done
}
trap remove_made EXIT
make_file() {
  if [[ -e $1 ]]; then return; fi
  root mkdir -p "$(dirname "$1")"
  made+=("$1")
  root tee "$1" >/dev/null
}
# Packages ask the first whether they may start services; PostgreSQL's asks the second whether it makes a cluster.
make_file /usr/sbin/policy-rc.d < <(printf '#!/bin/sh\nexit 101\n')
if [[ " ${made[*]-} " == *policy-rc.d* ]]; then root chmod 755 /usr/sbin/policy-rc.d; fi
if [[ " ${packages[*]} " == *" postgresql "* ]]; then
  make_file /etc/postgresql-common/createcluster.conf < <(echo 'create_main_cluster = false')
fi

apt() {
  root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Options::=--force-confold "$@" </dev/null
}
apt update || give_up "apt-get update failed"
apt install --yes --no-install-recommends "${packages[@]}" >/dev/null || give_up "apt-get could not install them"

if [[ -d /run/systemd/system ]]; then
  for p in "${packages[@]}"; do
    service=${p%-server} # postgresql, mariadb
    root systemctl disable --quiet --now "$service" || true
  done
fi
has_postgres || give_up "apt-get installed PostgreSQL, but initdb and postgres are not where they should be"
has_mariadb || give_up "apt-get installed MariaDB, but mariadbd and mariadb-install-db are not where they should be"
