# playpath in a container: first stage builds the wheel, second holds it and what the kernel world runs.
#   docker build -t playpath .
#   docker run --rm -v "$PWD":/work playpath demo                 the simulator: no rights needed
#   docker run --rm -v "$PWD":/work --device /dev/net/tun --cap-add SYS_ADMIN --cap-add NET_ADMIN --cap-add NET_RAW \
#     --cap-add SYS_NICE --security-opt apparmor=unconfined --security-opt seccomp=unconfined playpath compare wireless --world kernel
# The kernel world uses the host's kernel. SYS_ADMIN makes network namespaces and loads eBPF (with it come BPF and PERFMON),
# NET_ADMIN makes TUN devices, addresses and congestion controls, NET_RAW captures, SYS_NICE keeps links in time; the default profiles of
# AppArmor and seccomp forbid mounts and bpf(). `playpath doctor` in the container says what is missing.
FROM rust:1-bookworm AS build
WORKDIR /src
COPY . .
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv git && bpf/setup.sh build \
    && rm -rf /var/lib/apt/lists/*
RUN make wheel

FROM python:3.13-slim-bookworm
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends curl ffmpeg iperf3 iproute2 mptcpize nginx-light procps tcpdump \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/out/dist/*.whl /tmp/
RUN pip install --no-cache-dir /tmp/*.whl && rm /tmp/*.whl
WORKDIR /work
ENTRYPOINT ["playpath"]
CMD ["--help"]
