#!/bin/sh
# Installs the tools that packages.txt lists, those already there excepted.
# Usage: setup.sh [demo]    "demo" looks after what the demo needs and no more.
#
# Never fails: without root, or without a network, it says what is missing and
# leaves it to the test that needs the tool to fail by name.
set -eu

scope=${1:-test}
list=$(dirname "$0")/packages.txt

# missing prints the packages of absent commands on one line.
missing() {
	while read -r command package need _; do
		case $command in '#'* | '') continue ;; esac
		case $scope-$need in demo-test) continue ;; esac
		command -v "$command" >/dev/null 2>&1 || echo "$package" | tr , "\n"
	done <"$list" | sort -u | tr '\n' ' '
}

# install takes package names. It waits while another process installs. A fresh container has no
# package lists, and old lists name files the mirror no longer has: both are cured by one update.
install() {
	export DEBIAN_FRONTEND=noninteractive
	set -- apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120 "$@"
	"$@" >/dev/null 2>&1 && return
	apt-get update -qq && "$@" >/dev/null
}

packages=$(missing)
[ -n "$packages" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "setup: installing $packages"
	# shellcheck disable=SC2086 # one word per package
	install $packages || true
	packages=$(missing)
fi
if [ -n "$packages" ]; then
	echo "setup: missing Debian packages: $packages" >&2
	echo "setup: install them with: sudo apt-get install --no-install-recommends $packages" >&2
fi
