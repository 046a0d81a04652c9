#!/bin/sh
# Install what the kernel world needs on Debian or Ubuntu. Never run by `make test`: tests that miss a tool are skipped and
# say so. Safe to run again: what is there, from whatever source, is left alone. Needs root for what is missing.
# `bpf/setup.sh build` installs what `make kernel` and `make wheel` need, and nothing to run with.
#
#   build: clang (BPF target), libelf-dev, zlib1g-dev, pkg-config   controls and their loader
#          autoconf, automake, autopoint, bison, flex, gawk, …       libelf inside the loader of `make wheel`
#   run:   iproute2, nginx-light, curl                              namespaces, server, client
#   extra: iperf3, tcpdump, mptcpize, ngtcp2-client                 bulk traffic, captures, MPTCP for any program, HTTP/3
#   real players: ffmpeg, vlc-bin, vlc-plugin-base, chromium, npm   media; VLC; dash.js (npm fetches it)
set -eu

# "PACKAGE:WHAT IT BRINGS": a command, or a file if it begins with a slash.
build="clang:clang libelf-dev:/usr/include/libelf.h zlib1g-dev:/usr/include/zlib.h pkg-config:pkg-config
    autoconf:autoreconf automake:automake autopoint:autopoint bison:bison flex:flex gawk:gawk gettext:msgfmt m4:m4"
needed="clang:clang libelf-dev:/usr/include/libelf.h zlib1g-dev:/usr/include/zlib.h pkg-config:pkg-config
    iproute2:ip nginx-light:nginx curl:curl"
extra="iperf3:iperf3 tcpdump:tcpdump mptcpize:mptcpize ngtcp2-client:gtlsclient
    ffmpeg:ffmpeg vlc-bin:cvlc vlc-plugin-base:/usr/share/doc/vlc-plugin-base chromium:chromium npm:npm"

case ${1:-} in
    "") ;;
    build) needed=$build extra= ;;
    *)
        echo "bpf/setup.sh: '$1' is not known; nothing, or: build" >&2
        exit 2
        ;;
esac

missing() {
    for entry in $1; do
        brings=${entry#*:}
        case $brings in
            /*) [ -e "$brings" ] || echo "${entry%%:*}" ;;
            *) command -v "$brings" >/dev/null 2>&1 || [ -x "/usr/sbin/$brings" ] || echo "${entry%%:*}" ;;
        esac
    done
}

wanted=$(missing "$needed")
wanted_extra=$(missing "$extra")
if [ -z "$wanted$wanted_extra" ]; then
    echo "bpf/setup.sh: everything is there"
    exit 0
fi
[ "$(id -u)" = 0 ] || {
    echo "bpf/setup.sh: needs root to install: $(echo $wanted $wanted_extra); sudo bpf/setup.sh $*" >&2
    exit 1
}
command -v apt-get >/dev/null || {
    echo "bpf/setup.sh: no apt-get here; install by other means: $(echo $wanted $wanted_extra)" >&2
    exit 1
}
export DEBIAN_FRONTEND=noninteractive
# The packages' own services must not start: the test bed runs its own nginx inside its namespace.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq -o Acquire::Retries=3
[ -z "$wanted" ] || apt-get install -y -qq -o Acquire::Retries=3 --no-install-recommends $wanted
# One by one: a machine that lacks one of them runs all tests but those that need it.
for package in $wanted_extra; do
    apt-get install -y -qq --no-install-recommends "$package" ||
        echo "bpf/setup.sh: $package could not be installed; what needs it is skipped" >&2
done
echo "bpf/setup.sh: done; \`playpath doctor\` says what this machine can run"
