"""The HTTP server of a run: nginx in the server's namespace, with its own configuration and the run's folder."""

import ctypes
import os
import shutil
import socket
import time
from pathlib import Path
from typing import Protocol

from playpath.real.testbed import namespaces
from playpath.real.testbed.errors import MissingToolError, TestbedError
from playpath.real.testbed.processes import Child
from playpath.real.testbed.signalling import COLLECTOR_PATH, COLLECTOR_PORT, Signalling

PORT = 8080
_libc = ctypes.CDLL(None, use_errno=True)
_PIDFD_GETFD = 438  # on every architecture

# One worker in the foreground, so that the process that is started is the one that is ended. `sendfile`, as origins use it.
# `tcp_nopush` sends the header with the first bytes of the body, as in the simulator; a separate small packet would give a
# delay-based control a base RTT that full packets never reach. `keepalive_timeout` is longer than a player's pauses.
_CONFIG = """
daemon off;
master_process off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log warn;
events {{ worker_connections 256; }}
http {{
    log_format timed escape=json '{{"time":$msec,"peer":"$remote_addr","port":$remote_port,"request":"$request",'
        '"status":$status,"bytes":$body_bytes_sent,"took":$request_time,"rtt":"$tcpinfo_rtt","cwnd":"$tcpinfo_snd_cwnd"}}';
    access_log {folder}/access.log timed;
    client_body_temp_path {folder}/tmp-body;
    proxy_temp_path {folder}/tmp-proxy;
    fastcgi_temp_path {folder}/tmp-fastcgi;
    uwsgi_temp_path {folder}/tmp-uwsgi;
    scgi_temp_path {folder}/tmp-scgi;
    default_type application/octet-stream;
    sendfile on;
    sendfile_max_chunk 0;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_timeout 600s;
    keepalive_requests 100000;
    send_timeout 600s;
    server {{
        listen {address}:{port};
        root {folder}/www;
{bridge}    }}
{collector}}}
"""

# nginx makes a subrequest to the bridge before each response. If anything goes wrong there, the subrequest ends with 204 and the
# response is sent all the same.
_BRIDGE = """
        auth_request /_playpath;
{server_data}        location / {{
            set $playpath_file $request_filename;
        }}
        location = /_playpath {{
            internal;
            proxy_pass http://unix:{socket}:/;
            proxy_pass_request_body off;
            proxy_set_header Content-Length "";
            proxy_set_header X-Playpath-Peer $remote_addr:$remote_port;
            proxy_set_header X-Playpath-Local $server_addr:$server_port;
            proxy_set_header X-Playpath-Uri $request_uri;
            proxy_set_header X-Playpath-File $playpath_file;
            proxy_connect_timeout 100ms;
            proxy_send_timeout 100ms;
            proxy_read_timeout 100ms;
            proxy_intercept_errors on;
            error_page 400 401 403 404 500 502 503 504 = @without_bridge;
        }}
        location @without_bridge {{
            internal;
            return 204;
        }}
"""

# The bridge's answer has the header (CTA-5006); nginx omits a header without a value.
_SERVER_DATA = """        auth_request_set $playpath_cmsd $upstream_http_cmsd_dynamic;
        add_header CMSD-Dynamic $playpath_cmsd;
        add_header Access-Control-Expose-Headers CMSD-Dynamic;
"""

# Reports are passed on unchanged; the bridge answers 204 to those that it accepted.
_COLLECTOR = """    server {{
        listen {address}:{port};
        access_log off;
        location = {path} {{
            limit_except POST {{ deny all; }}
            client_max_body_size 64k;
            proxy_pass http://unix:{socket}:/reports;
            proxy_set_header X-Playpath-Peer $remote_addr:$remote_port;
            proxy_read_timeout 100ms;
        }}
        location / {{
            return 404;
        }}
    }}
"""


_SILENCE = Signalling()


class Server(Protocol):
    port: int
    www: Path
    """The folder that is served."""
    access_log: Path
    """A JSON line for each answer: `time`, `peer`, `port`, `request`, `status`, `bytes`, `took`."""

    def serve_zeros(self, name: str, size: int) -> None:
        """Serve a file of `size` zero bytes, which takes no disk space."""
        with (self.www / name).open("wb") as file:
            file.truncate(size)


class WebServer(Server):
    """nginx, started and accepting connections.

    `bridge` is the socket of the CMCD bridge to which it makes a subrequest before each response, about `signalling`. With
    `mptcp_under` it listens for MPTCP, with this control; clients without MPTCP get TCP.
    """

    def __init__(
        self,
        namespace: str,
        folder: Path,
        address: str = "0.0.0.0",
        port: int = PORT,
        bridge: Path | None = None,
        signalling: Signalling = _SILENCE,
        mptcp_under: str | None = None,
        realtime: bool = False,
    ) -> None:
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        if not os.access(program, os.X_OK):
            raise MissingToolError("nginx is missing; install nginx-light (bpf/setup.sh)")
        self.www = folder / "www"
        self.access_log = folder / "access.log"
        self.www.mkdir(exist_ok=True)
        self.namespace = namespace
        self.port = port
        config = folder / "nginx.conf"
        config.write_text(
            "user root;\n"
            + _CONFIG.format(
                folder=folder,
                address=address,
                port=port,
                bridge="" if bridge is None else _asking(bridge, signalling),
                collector=_COLLECTOR.format(address=address, port=COLLECTOR_PORT, path=COLLECTOR_PATH, socket=bridge)
                if signalling.reports
                else "",
            )
        )
        command = [*over_mptcp(mptcp_under is not None), program, "-c", str(config), "-p", str(folder)]
        self.child = Child("nginx", namespaces.inside(namespace, command), folder, realtime=realtime)
        self._mptcp_under = mptcp_under

    def wait_until_ready(self, patience: float = 5.0) -> None:
        """Wait until it accepts connections."""
        deadline = time.monotonic() + patience
        while not namespaces.call_inside(self.namespace, self._accepts):
            self.child.check()
            if time.monotonic() > deadline:
                raise TestbedError(f"nginx does not accept connections after {patience} s: {self.child.words()}")
            time.sleep(0.02)
        if self._mptcp_under is not None:
            _run_listeners_under(self._mptcp_under, self.child.process.pid)

    def _accepts(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=0.2).close()
        except OSError:
            return False
        return True


def _asking(bridge: Path, signalling: Signalling) -> str:
    return _BRIDGE.format(socket=bridge, server_data=_SERVER_DATA if signalling.server_data else "")


def _run_listeners_under(control: str, pid: int) -> None:
    """Let all subflows of a server's MPTCP connections use `control`.

    Set on the route, it would apply only to the first one: once the server has set an option of its connection, the kernel gives
    subflows that join the listener's control (net/mptcp/sockopt.c, `sync_socket_options`), by default the machine's. nginx has no
    setting for it.
    """
    process = os.pidfd_open(pid)
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if not os.readlink(entry).startswith("socket:"):
                continue
            copy = _libc.syscall(_PIDFD_GETFD, process, int(entry.name), 0)
            if copy < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            with socket.socket(fileno=copy) as found:
                if found.family == socket.AF_INET and found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    except OSError as error:
        raise TestbedError(f"cannot let nginx listen with {control}: {error.strerror}") from None
    finally:
        os.close(process)


def over_mptcp(wanted: bool) -> list[str]:
    """The command prefix for programs without a setting for MPTCP (nginx before 1.29, curl, VLC): `mptcpize` makes their sockets MPTCP."""
    if not wanted:
        return []
    program = shutil.which("mptcpize")
    if program is None:
        raise MissingToolError(
            "mptcpize is missing: nginx, curl and VLC need it for MPTCP; apt install mptcpize (bpf/setup.sh)"
        )
    return [program, "run"]
