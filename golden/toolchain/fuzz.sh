#!/usr/bin/env bash
# Runs every fuzz target for the time given (default 60s), one per processor at
# once. A target that finds something leaves its input in testdata/fuzz. Inputs
# that only reach new code are hardly minimised: that takes a minute for each file
# of a kilobyte, in which nothing is tried.
set -euo pipefail

cd "$(dirname "$0")/../.."
time=${1:-60s}

# "ok package" follows the names that a package lists.
targets=$(go test -run '^$' -list '^Fuzz' ./... | awk '
	/^Fuzz/ { names[++n] = $1 }
	/^ok/ { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }')
if [ -z "$targets" ]; then
	echo "no fuzz targets"
	exit 0
fi

fuzz() { # package target
	local output
	if output=$(go test -run '^$' -fuzz "^$2\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 100x -parallel 1 "$1" 2>&1); then
		echo "ok   $1 $2"
	else
		printf 'FAIL %s %s\n%s\n' "$1" "$2" "$output"
		return 1
	fi
}
export -f fuzz
export FUZZTIME=$time
# shellcheck disable=SC2016 # expanded by the inner shell
xargs -P "$(nproc)" -L 1 bash -c 'fuzz "$0" "$1"' <<<"$targets"
