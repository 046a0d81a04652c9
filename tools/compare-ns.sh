#!/usr/bin/env bash
# Packets per second of processor time on one dumbbell: playpath, ns-2 and ns-3, on this machine. Not part of the tests.
# usage: tools/compare-ns.sh [--install]      (--install gets ns-2 and ns-3 from Debian's packages; needs root)
# The scenario is that of `cargo bench -p playpath-sim`: NewReno bulk flows, base RTT 50 ms, tail-drop queue of one BDP.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=(ns2 libns3-dev libgsl-dev libsqlite3-dev g++ pkg-config)
if [ "${1:-}" = --install ]; then apt-get update -qq; apt-get install -y -qq "${packages[@]}"; fi
for program in ns g++ pkg-config cargo; do
  command -v "$program" >/dev/null || { echo "compare-ns: $program not found → tools/compare-ns.sh --install" >&2; exit 2; }
done

built=$(mktemp -d); trap 'rm -rf "$built"' EXIT
modules="ns3-internet ns3-applications ns3-point-to-point ns3-traffic-control"
# shellcheck disable=SC2046,SC2086
g++ -O2 -std=c++17 tools/compare-ns/dumbbell.cc -o "$built/ns3" $(pkg-config --cflags --libs $modules)

# row NAME FLOWS RATE PACKETS COMMAND...: runs COMMAND FLOWS RATE DURATION for about so many packets.
row() {
  local name=$1 flows=$2 rate=$3 wanted=$4; shift 4
  local duration=$((wanted * 12000 / (rate * 1000000)))
  [ "$duration" -ge 2 ] || duration=2
  local TIMEFORMAT=%U packets seconds
  { seconds=$( { time "$@" "$flows" "$rate" "$duration" >"$built/out"; } 2>&1 ); }
  packets=$(awk '/^packets/ {print $2}' "$built/out")
  awk -v n="$name, $flows flows, $rate Mbit/s" -v p="$packets" -v s="$seconds" \
    'BEGIN { printf "%-34s %11.3f %9.0f %10d\n", n, p / s / 1e6, s / p * 1e9, p }'
}

printf '%-34s %11s %9s %10s\n' row 'M packets/s' ns/packet packets
for size in "1 10" "10 10" "100 10" "1 100" "10 100" "100 100" "1000 1000"; do
  read -r flows rate <<<"$size"
  row ns-2 "$flows" "$rate" 1500000 ns tools/compare-ns/dumbbell.tcl
  row ns-3 "$flows" "$rate" 200000 "$built/ns3"
done
echo
cargo bench -q -p playpath-sim -- flows
