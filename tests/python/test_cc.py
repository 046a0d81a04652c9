"""What `playpath cc list` and `show` make of what `playpath-bpf` prints."""

from playpath.cli.commands.cc import print_connections, print_controls

CONNECTION = {
    "cc": "ccplb", "peer": "198.51.100.7:51514", "local_port": 443, "netns": 1, "time_ns": 1, "snd_cwnd": 80,
    "snd_ssthresh": 0x7FFFFFFF, "in_flight": 78, "rtt_us": 102_340, "pacing_rate": 1_250_000,
    "phase": "congestion_avoidance", "mptcp_token": 0, "details": {"b_packets": 41}, "params": {"pob_bytes": 1310000.0},
    "params_from": "peer",
}  # fmt: skip


def test_a_connection_is_told_in_the_units_of_people(capsys):
    """1 250 000 bytes a second are 10 Mbit/s; 2^31 - 1 is Linux's word for a threshold that was never set."""
    print_connections([CONNECTION, CONNECTION | {"pacing_rate": None, "params": {}}])
    first, windows, found, parameters, *_, unpaced, _ = capsys.readouterr().out.splitlines()
    assert first == "ccplb  port 443 to 198.51.100.7:51514, congestion avoidance"
    assert windows.strip() == "cwnd 80 packets, ssthresh infinite, in flight 78, RTT 102.3 ms, pacing rate 10 Mbit/s"
    assert found.strip() == "found: b_packets 41"
    assert parameters.strip() == "parameters, the peer's: pob_bytes 1310000"
    assert unpaced.endswith("pacing rate off")


def test_no_connection_is_said(capsys):
    print_connections([])
    assert capsys.readouterr().out == "no live connection uses one of our controls\n"


def test_controls_say_where_they_are_registered(capsys):
    kp = {"name": "kp", "default": 2.0, "allowed": "0.1 to 8 in steps of 0.001", "doc": "gain"}
    entry = {"name": "vegas", "summary": "holds its window", "params": []}
    print_controls(
        [
            entry | {"registered": [{"name": "vegas", "link": 3}, {"name": "vegas.a1", "link": None}]},
            entry | {"registered": []},
            entry | {"registered": None, "params": [kp]},
        ]
    )
    assert capsys.readouterr().out.splitlines() == [
        "vegas  holds its window  registered: vegas, vegas.a1 (unloaded, still in use)",
        "vegas  holds its window",
        "vegas  holds its window  only root sees whether it is registered",
        "    kp     = 2     0.1 to 8 in steps of 0.001     gain ",
    ]
