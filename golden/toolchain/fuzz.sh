#!/usr/bin/env bash
# Runs every fuzz target for the time given (default 60s), three at once on each
# processor. A target that finds something leaves its input in testdata/fuzz.
# Inputs that only reach new code are hardly minimised: that takes a minute for
# each file of a kilobyte, in which nothing is tried.
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
	elif ended_on_time "$2" "$output"; then
		echo "ok   $1 $2 (go.dev/issue/75804)"
	else
		printf 'FAIL %s %s\n%s\n' "$1" "$2" "$output"
		return 1
	fi
}

# Whether all that failed is Go's own end of the fuzzing time: its coordinator may
# take the deadline for a failure (go.dev/issue/75804, in Go up to 1.26). Then the
# deadline is all that stands under the target's "--- FAIL", and no input was written.
ended_on_time() { # target output
	local said
	said=$(sed -n "/^--- FAIL: $1 /,/^FAIL\$/p" <<<"$2" | sed '1d;$d')
	[ "$said" = "    context deadline exceeded" ] && ! grep -q 'Failing input' <<<"$2"
}
export -f fuzz ended_on_time
export FUZZTIME=$time
# shellcheck disable=SC2016 # expanded by the inner shell
xargs -P "$(($(nproc) * 3))" -L 1 bash -c 'fuzz "$0" "$1"' <<<"$targets"
