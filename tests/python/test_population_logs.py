"""A users' table from logs: what is read, what is left out, what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from playpath import population
from playpath.base.errors import InputError
from playpath.cli import app
from playpath.population import logs
from playpath.population.known_from import LOSSES, RATES, TIMES
from playpath.population.logs import Import

NGINX = (
    '10.0.0.1 - - [01/Nov/2026:10:00:00 +0000] "GET /a.m4s?CMCD=bl%3D2000%2Cmtp%3D4000%2Csid%3D%22ann%22 HTTP/1.1" 200 {size} '
    '"-" "player" {seconds} {rtt}\n'
)


def read_logs(files: list[Path], *arguments: str, **options: str) -> Import:
    """With the names of viewers as the logs have them."""
    return logs.read_logs(files, *arguments, keep_names=True, **options)


def log(folder: Path, text: str, name: str = "access.log") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_an_access_log_gives_rate_and_smallest_rtt(tmp_path):
    text = NGINX.format(size=1_000_000, seconds="2.000", rtt=60_000) + NGINX.format(
        size=1_000_000, seconds="4.000", rtt=45_000
    )
    found = read_logs([log(tmp_path, text)])
    # 4 and 2 Mbit/s: the 90th percentile is 3.8; the smaller RTT is the path's.
    assert found.rows == [{"name": "ann", "rate_mbps": 3.8, "samples": 2, "rtt_ms": 45.0}]
    assert found.to_csv() == "name,rate_mbps,rtt_ms,samples,known_from\nann,3.8,45.0,2,rates of a deployed sender\n"


def test_small_objects_and_instant_ones_say_nothing_of_the_path(tmp_path):
    text = NGINX.format(size=20_000, seconds="0.100", rtt=60_000) + NGINX.format(
        size=900_000, seconds="0.000", rtt=50_000
    )
    with pytest.raises(InputError, match="no session can be used"):
        read_logs([log(tmp_path, text)])


def test_an_nginx_log_of_another_format(tmp_path):
    text = "192.0.2.7|1500000|3.000\ngarbage\n"
    found = read_logs([log(tmp_path, text)], "nginx", log_format="$remote_addr|$bytes_sent|$request_time")
    assert found.rows == [{"name": "192.0.2.7", "rate_mbps": 4.0, "samples": 1}]
    assert any("1 lines could not be read" in note for note in found.notes)
    assert any("no RTT is known" in note for note in found.notes)


def test_the_log_format_needs_times(tmp_path):
    with pytest.raises(InputError, match=r"needs \$body_bytes_sent"):
        read_logs([log(tmp_path, "x\n")], "nginx", log_format="$remote_addr")


def test_a_w3c_log(tmp_path):
    text = "#Version: 1.0\n#Fields: date time c-ip sc-bytes time-taken cs-uri-query\n2026-11-01\t10:00:00\t192.0.2.1\t2000000\t2.0\t-\n"
    assert read_logs([log(tmp_path, text)]).rows == [{"name": "192.0.2.1", "rate_mbps": 8.0, "samples": 1}]


def test_cmcd_lines_of_both_forms(tmp_path):
    text = '/v/1.m4s?CMCD=mtp%3D2500%2Csid%3D%22a%22\nCMCD-Request: mtp=5000,CMCD-Session: sid="b"\n'
    assert {row["name"]: row["rate_mbps"] for row in read_logs([log(tmp_path, text)]).rows} == {"a": 2.5, "b": 5.0}


def test_beacons(tmp_path):
    text = "session,throughput_kbps,rtt_ms\nx,3000,40\nx,1000,30\ny,800,\n"
    found = read_logs([log(tmp_path, text)])
    assert found.rows == [{"name": "x", "rate_mbps": 2.8, "samples": 2, "rtt_ms": 30.0}]
    assert any("1 sessions have no RTT" in note for note in found.notes)


@pytest.mark.parametrize(
    "text",
    [
        "connection,delivery_rate,delivery_rate_app_limited,min_rtt\nc,250000,0,20000\nc,900,1,20000\n",
        '{"connection": "c", "delivery_rate": 250000, "delivery_rate_app_limited": 0, "min_rtt": 20000}\n'
        '{"connection": "c", "delivery_rate": 900, "delivery_rate_app_limited": 1, "min_rtt": 20000}\n',
    ],
)
def test_application_limited_tcp_info_is_left_out(tmp_path, text):
    found = read_logs([log(tmp_path, text)])
    assert found.rows == [{"name": "c", "rate_mbps": 2.0, "samples": 1, "rtt_ms": 20.0}]
    assert any("1 of 2 samples are application-limited" in note for note in found.notes)


def test_what_is_no_log_is_refused(tmp_path):
    with pytest.raises(InputError, match="not recognised"):
        read_logs([log(tmp_path, "hello\n")])
    with pytest.raises(InputError, match="no such file"):
        read_logs([tmp_path / "missing.log"])
    with pytest.raises(InputError, match='did you mean "nginx"'):
        read_logs([log(tmp_path, "hello\n")], "nginks")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("tcpinfo", '{"delivery_rate": 1000000, "rtt": 3000}\n{bad\n'),
        ("tcpinfo", '{"delivery_rate": 1000000, "rtt": 3000}\n[1]\n'),
        ("beacons", "session,throughput_kbps\na\nb,5\n"),
        (
            "nginx",
            "10.0.0.1 - - [x] "
            + '"GET /a HTTP/1.1" 200 900000 "-" "M" 1.0 20000\n'
            + '1 - - [x] "GET '
            + '" 200 1 "' * 20000
            + "\n",
        ),
    ],
)
def test_a_line_that_cannot_be_read_is_left_out_and_told(kind, text, tmp_path):
    file = tmp_path / "log"
    file.write_text(text)
    found = read_logs([file], kind)
    assert len(found.rows) == 1
    assert "1 lines could not be read" in found.notes[0]


def test_headers_on_one_line_are_told_apart_by_any_space(tmp_path):
    file = tmp_path / "log"
    file.write_text('CMCD-Request: bl=2000,mtp=5000\tCMCD-Session: sid="x",v=2\n')
    assert read_logs([file], "cmcd").rows[0]["rate_mbps"] == 5
    assert read_logs([file], "cmcd").rows[0]["name"] == "x"


def test_a_field_without_end_is_one_line(tmp_path):
    file = tmp_path / "log"
    file.write_text("session,throughput_kbps\n" + "x" * 200_000 + ",5\n")
    with pytest.raises(InputError, match=r"log: line 2: field larger"):
        read_logs([file])


COMBINED = '10.0.0.1 - - [04/Mar/2026:10:00:07 +0000] "GET /seg-1.m4s HTTP/2.0" 200 1000000 "-" "player"'
SS = (
    "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
    'ESTAB 0 123840 192.0.2.1:443 198.51.100.7:40001 users:(("nginx",pid=12,fd=9))\n'
    "\t cubic wscale:7,7 rto:260 rtt:61.2/6.1 mss:1448 cwnd:40 bytes_acked:8900000 send 6.1Mbps delivery_rate {rate} {flag}"
    "busy:9000ms minrtt:55.5\n"
)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        # What stands behind nginx's combined format: 8 Mbit in 2 s.
        (COMBINED + " 2.000\n", {"name": "10.0.0.1", "rate_mbps": 4.0}),
        (COMBINED + ' rt=2.000 urt="0.004" rtt=61000\n', {"name": "10.0.0.1", "rate_mbps": 4.0, "rtt_ms": 61.0}),
        (
            '{"remote_addr": "10.0.0.1", "bytes_sent": "1000000", "request_time": "2.000", "tcpinfo_rtt": "61000"}\n',
            {"name": "10.0.0.1", "rate_mbps": 4.0, "rtt_ms": 61.0},
        ),
        # Fastly: times in microseconds, the client's session in the URL.
        (
            '{"client_ip": "10.0.0.1", "url": "/1.m4s?CMCD=br%3D3000%2Csid%3D%22ann%22", "response_body_size": 1000000, '
            '"time_elapsed": 2000000, "tcpi_rtt": 61000}\n',
            {"name": "ann", "rate_mbps": 4.0, "rtt_ms": 61.0},
        ),
        # Akamai's DataStream 2: milliseconds; its throughput, in kbit/s, is measured.
        (
            '[{"cliIP": "10.0.0.1", "totalBytes": "1000000", "transferTimeMSec": "2000"}]',
            {"name": "10.0.0.1", "rate_mbps": 4.0},
        ),
        (
            '{"cliIP": "10.0.0.1", "throughput": "5000", "cmcd": "//1.0@V/bl=21300,br=3200,sid=\\"ann\\""}\n',
            {"name": "ann", "rate_mbps": 5.0},
        ),
        # CMCD 2 as JSON; its lists hold one value for each kind of media.
        ('{"v": 2, "e": "rr", "sid": "ann", "mtp": [5000], "br": [3200]}\n', {"name": "ann", "rate_mbps": 5.0}),
        # IIS counts milliseconds where the standard says seconds.
        (
            "#Software: Microsoft Internet Information Services 10.0\n#Fields: c-ip sc-bytes time-taken\n10.0.0.1 1000000 2000\n",
            {"name": "10.0.0.1", "rate_mbps": 4.0},
        ),
        # TCP_INFO's bytes_sent beside a size.
        (
            "session,size,duration_ms,bytes_sent\nann,1000000,2000,9000000\n",
            {"name": "ann", "rate_mbps": 4.0},
        ),
        (
            "Session ID;Bytes;Duration (ms);RTT ms\nann;1000000;2000;61\n",
            {"name": "ann", "rate_mbps": 4.0, "rtt_ms": 61.0},
        ),
        (SS.format(rate="4.0Mbps", flag=""), {"name": "198.51.100.7:40001", "rate_mbps": 4.0, "rtt_ms": 55.5}),
    ],
)
def test_logs_as_servers_networks_and_players_write_them(tmp_path, text, row):
    assert read_logs([log(tmp_path, text)]).rows == [row | {"samples": 1}]


@pytest.mark.parametrize(
    ("text", "is_served"),
    [
        (COMBINED + " 2.000\n", True),
        ('{"client_ip": "10.0.0.1", "response_body_size": 1000000, "time_elapsed": 2000000}\n', True),
        ('[{"cliIP": "10.0.0.1", "totalBytes": "1000000", "transferTimeMSec": "2000"}]', True),
        # The player measured.
        ("session,bytes,duration_ms\nann,1000000,2000\n", False),
        ('{"cliIP": "10.0.0.1", "throughput": "5000", "transferTimeMSec": "2000"}\n', False),
    ],
)
def test_times_that_a_server_measured_are_noted_whatever_the_format(tmp_path, text, is_served):
    notes = read_logs([log(tmp_path, text)]).notes
    assert any("before it has arrived" in note for note in notes) == is_served


def test_application_limited_sockets_are_left_out(tmp_path):
    text = SS.format(rate="90Mbps", flag="app_limited ") + SS.format(rate="4000Kbps", flag="")
    found = read_logs([log(tmp_path, text)])
    assert (found.rows[0]["rate_mbps"], found.rows[0]["samples"]) == (4.0, 1)


def test_columns_of_ones_own_are_named(tmp_path):
    file = log(tmp_path, "viewer_key,n,took,live_latency_ms\nann,1000000,2000,4100\n")
    with pytest.raises(InputError, match="not recognised"):
        read_logs([file])
    assert read_logs([file], fields="session=viewer_key, bytes=n, duration_ms=took").rows == [
        {"name": "ann", "rate_mbps": 4.0, "samples": 1}
    ]
    with pytest.raises(InputError, match='did you mean "session"'):
        read_logs([file], fields="sesion=viewer_key")
    with pytest.raises(InputError, match="OURS=YOURS"):
        read_logs([file], fields="session")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (COMBINED + "\n", r"read as nginx.*\$request_time.*the first is: 10\.0\.0\.1"),
        ('{"bytes": 1000000}\n', "read as json.*--fields"),
    ],
)
def test_a_log_without_times_is_told_what_it_lacks(tmp_path, text, shown):
    with pytest.raises(InputError, match=shown):
        read_logs([log(tmp_path, text)])


def test_a_log_that_is_named_twice_is_refused(tmp_path):
    file = log(tmp_path, "session,throughput_kbps\nx,3000\n")
    with pytest.raises(InputError, match=r"log: is named twice; name each log once"):
        read_logs([file, tmp_path / "." / file.name])


def test_a_folder_of_logs_is_told_to_name_them(tmp_path):
    with pytest.raises(InputError, match=r": is a folder; give the logs in it \(.*/\*\)$"):
        read_logs([tmp_path])


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("session,bytes,duration_ms\nx,1000000,1000\n", "duration_ms"),
        ('{"bytes": 1000000, "duration_ms": 1000}\n{"duration_ms": 1, "size_b": 2}\n', "size_b"),
        ("#Fields: c-ip sc-bytes time-taken\n192.0.2.1 1000000 1\n", "time_taken"),
    ],
)
def test_a_field_of_a_column_that_is_not_there_is_refused(text, column, tmp_path):
    misspelled = column.replace("_", "", 1)
    expected = rf'log: --fields: unknown column "{misspelled}"; did you mean "{column}"\?'
    with pytest.raises(InputError, match=expected):
        read_logs([log(tmp_path, text)], fields=f"session={misspelled}")
    with pytest.raises(InputError, match='"nosuch"; allowed: '):
        read_logs(
            [log(tmp_path, "$remote_addr $bytes_sent $request_time")],
            log_format="$remote_addr $took",
            fields="bytes=nosuch",
        )


def test_columns_to_group_by_are_kept_by_session(tmp_path):
    text = (
        "session,throughput_kbps,Country,Device Type,timestamp\n"
        "x,3000,de,tv,2026-03-04T20:10:00Z\nx,2000,de,tv,2026-03-04T20:11:00Z\nx,1000,at,tv,2026-03-04T21:00:00Z\n"
        "y,800,,phone,2026-03-05T07:00:00Z\n"
    )
    found = read_logs([log(tmp_path, text)], keep="country, Device Type, day, hour")
    assert found.to_csv() == (
        "name,rate_mbps,samples,known_from,country,device_type,day,hour\n"
        "x,2.8,3,rates of a deployed sender,de,tv,2026-03-04,20\ny,0.8,1,rates of a deployed sender,unknown,phone,2026-03-05,07\n"
    )
    assert any("1 sessions have several values of country" in note for note in found.notes)
    assert any('1 sessions have no country; it is "unknown" there' in note for note in found.notes)


OF_THE_LINE = NGINX.replace("/a.m4s?", "/a.m4s?isp=x&").format(size=900_000, seconds="rt=1.000", rtt="country=de")
OF_CMCD = "/v/1.m4s?CMCD=mtp%3D2500%2Csid%3D%22a%22%2Ccom.acme-isp%3D%22x%20y%22%2Cts%3D1772618400000\n"
OF_W3C = "#Fields: date time c-ip sc-bytes time-taken x-edge\n2026-11-01\t10:00:00\t192.0.2.1\t2000000\t2.0\tFRA\n"
OF_JSON = '{"client_ip": "a", "bytes": 900000, "request_time": 1, "geo": {"country": "de"}, "ts": 1772618400.5}\n'


@pytest.mark.parametrize(
    ("text", "keep", "row"),
    [
        # What stands behind nginx's combined format, a parameter of the URL, the log's own time.
        (OF_THE_LINE, "country,isp,hour", ("de", "x", "10")),
        (OF_CMCD, "com.acme-isp,day", ("x y", "2026-03-04")),
        (OF_W3C, "x-edge,day,hour", ("FRA", "2026-11-01", "10")),
        (OF_JSON, "geo.country,hour", ("de", "10")),
    ],
)
def test_where_columns_to_group_by_come_from(text, keep, row, tmp_path):
    found = read_logs([log(tmp_path, text)], keep=keep)
    assert tuple(found.rows[0]["groups"].values()) == row


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        ("contry", 'unknown column to keep "contry"; did you mean "country"?'),
        ("rate_mbps", "`rate_mbps` cannot be a column to group by"),
        ("rtt", "`rtt` cannot be a column to group by"),
        ("country, Country", "`country` is named twice"),
    ],
)
def test_a_column_that_cannot_be_kept_is_refused(keep, words, tmp_path):
    with pytest.raises(InputError, match=re.escape(words)):
        read_logs([log(tmp_path, "session,throughput_kbps,country\nx,3000,de\n")], keep=keep)


def test_rates_and_times_that_no_viewer_has_are_doubted(tmp_path):
    text = "session,throughput_mbps,rtt_ms\na,1500,26000\nb,5,40\n"
    notes = read_logs([log(tmp_path, text)]).notes
    assert any("1 sessions have a rate above 1000 Mbit/s (a: 1500 Mbit/s)" in note for note in notes)
    assert any("1 sessions have an RTT above 3000 ms (a: 26000 ms)" in note for note in notes)


def test_viewers_are_hashed_with_another_key_in_each_run_unless_their_names_are_to_be_kept(tmp_path):
    file = log(
        tmp_path, "c_ip,throughput_mbps,rtt_ms\n192.0.2.7,1500,40\n192.0.2.7,1500,30\n192.0.2.8,5,40\n", "viewers.csv"
    )
    tables = []
    for options in ([], [], ["--keep-names"]):
        done = CliRunner().invoke(
            app, ["population", "import", str(file), "--out", str(tmp_path / "users.csv"), *options]
        )
        assert done.exit_code == 0, done.output
        assert ("192.0.2" in done.output) == bool(options)
        tables.append((tmp_path / "users.csv").read_text())
    assert re.findall(r"^192\.0\.2\.[78],", tables[2], re.MULTILINE) == ["192.0.2.7,", "192.0.2.8,"]
    first, second = (re.findall(r"^([0-9a-f]{16}),", table, re.MULTILINE) for table in tables[:2])
    assert len({*first, *second}) == 4
    assert not any("192.0.2" in table for table in tables[:2])


def test_rows_that_name_nobody_are_not_hashed(tmp_path):
    assert logs.read_logs([log(tmp_path, "throughput_mbps,rtt_ms\n5,40\n")]).rows[0]["name"] == "all"


@pytest.mark.slow
def test_an_answer_says_what_its_paths_are_known_from(tmp_path):
    """The same two users: from rates, from times alone, from times and retransmissions."""
    scenario = (
        '[video]\nsource = "bigbuckbunny"\nduration = "4 s"\n[[path]]\nname = "link"\nrate = "5 Mbit/s"\nrtt = "50 ms"\n'
        '[[sender]]\ncc = "cubic"\n[[sender]]\ncc = "bbr"\n[population]\nusers = "users.csv"\nsessions = 1\n'
    )
    (tmp_path / "own.toml").write_text(scenario)
    found = {}
    for known in (RATES, TIMES, LOSSES):
        (tmp_path / "users.csv").write_text(f"name,rate_mbps,known_from\na,5,{known}\nb,8,{known}\n")
        found[known] = population(tmp_path / "own.toml", store=tmp_path / "store").to_dict()
        assert found[known]["known_from"] == {known: 2}
    assert "are a deployed sender's throughput" in found[RATES]["headline"]
    assert "your logs do not decide this" in found[TIMES]["headline"]
    assert "bytes_retrans" in found[TIMES]["left_open"]
    assert not found[TIMES]["is_decided"]
    assert found[LOSSES]["left_open"] is None
    assert "logs" not in found[LOSSES]["headline"]
