#!/usr/bin/env bash
# Counts the hand-written lines of the repository outside tests, folder by folder: Go, C and
# assembly, templates, scripts. What is generated, says so and is left out, and so are
# the outputs that are checked in.
set -euo pipefail

cd "$(dirname "$0")/../.."
git ls-files '*.go' '*.c' '*.h' '*.s' '*.S' '*.tmpl' '*.sh' '*.py' Makefile .ci/run |
	grep -Ev '_test\.go$|(^|/)testdata/|^golden/(packages|registry)/.*/' |
	while read -r file; do
		[ -f "$file" ] || continue
		if ! head -n 6 "$file" | grep -qiE 'do not edit|code generated'; then
			printf '%s %s\n' "$(wc -l <"$file")" "$file"
		fi
	done |
	awk '{
		n = split($2, part, "/")
		room = n > 2 ? part[1] "/" part[2] : n > 1 ? part[1] : "."
		lines[room] += $1; files[room]++
		side = part[1] == "golden" ? "golden" : "etgen"
		all[side] += $1
	}
	END {
		for (room in lines) printf "%7d %4d files  %s\n", lines[room], files[room], room | "sort -rn"
		close("sort -rn")
		printf "%7d  golden: what holds etgen against something else\n", all["golden"]
		printf "%7d  all the rest\n", all["etgen"]
	}'
