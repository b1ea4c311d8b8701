#!/usr/bin/env bash
# report_pictures.sh ETGEN MOBILENET.pt2: the pictures of docs/report.md, by chromium without a
# screen, with colours of a table (pngquant). MOBILENET.pt2 is torchvision's mobilenet_v2.
set -euo pipefail

etgen=$1 mobilenet=$2
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# pictures NAME CHOSEN MODEL FLAG…: a picture of each view; CHOSEN is what is selected.
pictures() {
	local name=$1 chosen=$2
	shift 2
	"$etgen" report "$@" -o "$dir/$name.html"
	local views=(overview graph operators kernels memory flash code weights)
	case " $* " in *" --quantize="*) views+=(quantization) ;; esac
	for view in "${views[@]}"; do
		local mode=()
		[ "$name-$view" != cond-graph ] || mode=(--blink-settings=preferredColorScheme=0)
		chromium --headless --no-sandbox --hide-scrollbars --window-size=1240,760 "${mode[@]}" \
			--virtual-time-budget=3000 --screenshot="docs/report/$name-$view.png" \
			"file://$dir/$name.html#$view/0$([ "$view" = overview ] || echo "/$chosen")" 2>/dev/null
	done
}

pictures kws layer/3 golden/cases/kws_trained/model.pt2 --target=cortex-m4 --quantize=int8 \
	--calibrate=golden/cases/kws_trained
pictures mobilenet layer/5 "$mobilenet" --target=cortex-m7
pictures cond before/1 golden/cases/cond/model.pt2
pngquant --force --ext .png 256 docs/report/*.png
