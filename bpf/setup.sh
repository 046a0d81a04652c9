#!/bin/sh
# Install what the kernel world needs on Debian or Ubuntu. Never run by `make test`: tests that miss a tool are skipped and
# say so. Safe to run again. Needs root.
#
#   build: clang (BPF target), libelf-dev, zlib1g-dev, pkg-config   controls and their loader
#   run:   iproute2, nginx-light, curl                              namespaces, server, client
#   extra: iperf3, tcpdump, mptcpize                                bulk traffic, captures, MPTCP for any program
#   real players: ffmpeg, vlc-bin, vlc-plugin-base, chromium, npm   media; VLC; dash.js (npm fetches it)
set -eu
[ "$(id -u)" = 0 ] || { echo "bpf/setup.sh: needs root: sudo bpf/setup.sh" >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive
# The packages' own services must not start: the test bed runs its own nginx inside its namespace.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq
apt-get install -y -qq --no-install-recommends \
    clang libelf-dev zlib1g-dev pkg-config \
    iproute2 nginx-light curl \
    iperf3 tcpdump mptcpize \
    ffmpeg vlc-bin vlc-plugin-base chromium npm
