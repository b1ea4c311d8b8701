#!/usr/bin/env bash
# Checks that what `go generate` writes is what is checked in. It generates in a
# copy, so the work tree stays as it is, and compares the two trees. Cases that
# lie beside the repository lie beside the copy as well.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

mkdir "$copy/main"
[ ! -e "$root/../shared" ] || ln -s "$root/../shared" "$copy/shared"
# Tracked files and new ones; a file deleted but not yet committed is left out.
(cd "$root" && git ls-files -z --cached --others --exclude-standard |
	while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
	tar --null -T - -cf -) | tar -xf - -C "$copy/main"
cp -R "$copy/main" "$copy/before"

(cd "$copy/main" && go generate ./...)
diff -r -q "$copy/before" "$copy/main" >"$copy/stale" && exit 0

echo "generated files are out of date; run make generate and commit:" >&2
sed "s|$copy/before/||; s|$copy/main|.|g; s|$copy/before|.|g" "$copy/stale" >&2
exit 1
