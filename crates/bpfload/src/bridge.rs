//! The CMCD bridge: nginx calls it for every request, before the response starts, and it passes the player's data (CTA-5004) to the
//! congestion control of that connection.
//!
//! It speaks HTTP on a Unix socket, one short request at a time, and always answers 204: it can inform a control,
//! but never delay or refuse a response. If it is slow or not running, nginx continues without it (`docs/manual/kernel-cmcd.md`). All
//! values are
//! untrusted input of a client: clamped by `playpath_video::cmcd::ServerView`, by the parameter's range, and again by the law.
//!
//! Its answer can carry the kernel's estimates for the connection (CMSD, CTA-5006), which nginx passes on. It also accepts reports of
//! players (CMCD's event mode): nginx forwards the POSTs for its collector as `POST /reports`, and their values are applied to all
//! connections of the session with the same `sid`.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, MetadataExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use playpath_http::{Head, MAX_HEAD_BYTES, Range};
use playpath_shell::{clap, since_epoch_s};
use playpath_units::{AppParameters, Rate};
use playpath_video::ServerPolicy;
use playpath_video::cmcd::{
    Parsed, ServerView, Warning, collected, parse, parse_headers, parse_query, report_lines,
};
use playpath_video::cmsd::Cmsd;
use rustix::fs::Mode;
use rustix::process::umask;

use playpath_cc::ParamValue;
use playpath_cc::kernel::{Law, Slot};

use crate::diag::Diag;
use crate::live::{LiveError, Registered};

/// Most bytes of a report body; nginx refuses longer ones (`client_max_body_size`).
const MAX_BODY: usize = 64 * 1024;
/// Most connections of a session that its reports are applied to, the latest ones. Browsers open six to a server.
const MAX_PEERS: usize = 16;
/// Most sessions remembered; above it all are forgotten.
const MAX_SESSIONS: usize = 16 * 1024;
/// Value of `pob_free_bytes` if the player does not report its buffer level.
const UNREPORTED: f64 = u32::MAX as f64;
const OF_PLAYER: (&str, &str) = ("POST", "/reports");
/// Prefix of the log lines about rejected values.
const CLAIM: &str = "playpath-bpf agent: not believed, from ";
/// Time in which a client has to send its request, and to take the answer, before it is dropped.
const PATIENCE: Duration = Duration::from_millis(100);

/// Which size of the playout buffer is passed to the control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BufferMode {
    /// The whole buffer (the CCPLB paper).
    Size,
    /// The free part, if the player reports its buffer level.
    Free,
}

pub struct CmcdBridge {
    registered: Option<Registered>,
    mode: BufferMode,
    with_estimates: Option<Estimates>,
    reports: Option<File>,
    sessions: HashMap<String, CmcdSession>,
}

/// Source of the server's data in the answers (CMSD).
struct Estimates {
    diag: Diag,
    policy: ServerPolicy,
}

/// Data that the player of a session has reported so far.
struct CmcdSession {
    view: ServerView,
    /// An implausible claim of it was reported; once is enough, a client could fill the log.
    is_reported: bool,
    /// Source addresses of its requests, the latest last.
    peers: Vec<SocketAddr>,
}

impl CmcdSession {
    fn new() -> CmcdSession {
        CmcdSession { view: ServerView::default(), is_reported: false, peers: Vec::new() }
    }

    /// Note the source address of a request.
    fn note(&mut self, peer: SocketAddr) {
        self.peers.retain(|known| *known != peer);
        self.peers.push(peer);
        if self.peers.len() > MAX_PEERS {
            self.peers.remove(0);
        }
    }

    fn complain(&mut self, peer: SocketAddr, warnings: &[Warning]) {
        if let (Some(warning), false) = (warnings.first(), self.is_reported) {
            self.is_reported = true;
            eprintln!("{CLAIM}{peer}: {warning}");
        }
    }
}

impl CmcdBridge {
    /// A bridge to a registered control, if there is one.
    pub fn new(registered: Option<Registered>, mode: BufferMode) -> CmcdBridge {
        CmcdBridge { registered, mode, with_estimates: None, reports: None, sessions: HashMap::new() }
    }

    /// The same, with answers that carry the kernel's estimates, and `max_rate` as the highest rate that a session should choose.
    pub fn with_estimates(self, diag: Diag, max_rate: Option<Rate>) -> CmcdBridge {
        CmcdBridge { with_estimates: Some(Estimates { diag, policy: ServerPolicy { max_rate } }), ..self }
    }

    /// The same, with players' reports appended to a file.
    pub fn collecting(self, reports: File) -> CmcdBridge {
        CmcdBridge { reports: Some(reports), ..self }
    }

    /// Serve on a Unix socket at `path` until the process ends. Error: the socket cannot be made.
    pub fn serve(mut self, path: &Path) -> std::io::Result<()> {
        let listener = listen(path)?;
        for stream in listener.incoming() {
            // One bad client must not end the bridge.
            if let Err(error) = stream.and_then(|stream| self.answer(stream)) {
                eprintln!("playpath-bpf agent: {error}");
            }
        }
        Ok(())
    }

    fn answer(&mut self, mut stream: UnixStream) -> std::io::Result<()> {
        stream.set_write_timeout(Some(PATIENCE))?;
        let (head, body) = read_request(&mut stream, Instant::now() + PATIENCE)?;
        let question = Question::of(&head, &body);
        let taken = match &question {
            Some(question) if (&*head.method, &*head.target) == OF_PLAYER => self.collect(question),
            Some(question) => self.take(question),
            None => Ok(()),
        };
        if let Err(message) = taken {
            eprintln!("playpath-bpf agent: {message}");
        }
        let header = question.map_or(String::new(), |question| self.server_data(&question));
        stream.write_all(format!("HTTP/1.1 204 No Content\r\n{header}Connection: close\r\n\r\n").as_bytes())
    }

    /// The CMSD header; empty if there are no data for it.
    fn server_data(&self, question: &Question) -> String {
        let Some(Estimates { diag, policy }) = &self.with_estimates else { return String::new() };
        let known = question.local.and_then(|local| diag.of(local, question.peer)).unwrap_or_default();
        let rate = Rate::from_bits_per_sec(known.delivery_rate.saturating_mul(8));
        let rtt = playpath_units::Duration::from_micros(known.rtt.into());
        let cmsd = Cmsd::of_server([(rate, rtt)], *policy);
        let value = cmsd.dynamic();
        if value.is_empty() { value } else { format!("CMSD-Dynamic: {value}\r\n") }
    }

    fn take(&mut self, request: &Question) -> Result<(), LiveError> {
        let parsed = match request.query {
            Some(query) => parse_query(query),
            None => parse_headers(request.head.fields.iter().map(|(name, value)| (&**name, &**value))),
        };
        let session = parsed.cmcd.sid.clone().unwrap_or_else(|| request.peer.to_string());
        if self.sessions.len() >= MAX_SESSIONS && !self.sessions.contains_key(&session) {
            self.sessions.clear();
        }
        let viewer = self.sessions.entry(session).or_insert_with(CmcdSession::new);
        viewer.note(request.peer);
        let mut warnings = Vec::new();
        let hints = viewer.view.handle_request(&parsed.cmcd, request.object_bytes(), &mut warnings);
        viewer.complain(request.peer, &warnings);
        hints.map_or(Ok(()), |hints| self.write_app_parameters(request.peer, &hints))
    }

    /// Handle reports that a player has sent to the collector. They apply to the connections of the session whose requests carry the same
    /// `sid`; those of an unknown session are only stored.
    fn collect(&mut self, post: &Question) -> Result<(), LiveError> {
        for line in report_lines(post.body) {
            self.keep(post.peer, line);
            let Parsed { cmcd, mut warnings } = parse(line);
            let Some(viewer) = cmcd.sid.as_ref().and_then(|sid| self.sessions.get_mut(sid)) else { continue };
            let hints = viewer.view.handle_report(&cmcd, &mut warnings);
            viewer.complain(post.peer, &warnings);
            let peers = viewer.peers.clone();
            if let Some(hints) = hints {
                peers.into_iter().try_for_each(|peer| self.write_app_parameters(peer, &hints))?;
            }
        }
        Ok(())
    }

    /// One line of the file.
    fn keep(&mut self, peer: SocketAddr, report: &str) {
        let Some(file) = &mut self.reports else { return };
        if let Err(error) = writeln!(file, "{}", collected(since_epoch_s(), peer, report)) {
            eprintln!("playpath-bpf agent: a report was not kept: {error}");
        }
    }

    /// Pass the parameters to the control of the connection to this peer.
    fn write_app_parameters(&self, peer: SocketAddr, hints: &AppParameters) -> Result<(), LiveError> {
        let Some(registered) = &self.registered else { return Ok(()) };
        let mut block = registered.params_of(peer)?;
        for (slot, value) in values(registered.control, hints, self.mode) {
            registered.control.set(&mut block, slot, value).expect("whole and within the range");
        }
        if let Some(report) = registered.control.slot("report") {
            block[report.index] = block[report.index].wrapping_add(1);
        }
        registered.set_params_of(peer, &block)
    }
}

/// A listening socket at `path` that only the owner of its folder may open, so that the kernel checks who may inform the control. A stale
/// socket of a killed bridge is replaced; one in use, and any other file, is left alone.
fn listen(path: &Path) -> std::io::Result<UnixListener> {
    let listener = match bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_stale(path) => {
            fs::remove_file(path)?;
            bind(path)?
        }
        other => other?,
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    chown(path, Some(fs::metadata(folder)?.uid()), None)?;
    Ok(listener)
}

/// Create the socket with its final mode: a client that connected before a later change of the mode would be served.
fn bind(path: &Path) -> std::io::Result<UnixListener> {
    let before = umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
    let listener = UnixListener::bind(path);
    umask(before);
    listener
}

fn is_stale(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
        && UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

/// Values for the parameters of this control. They are measurements, so they are rounded and clamped to their ranges. A control with
/// parameters for both the size and the free part of the buffer gets both, whatever the mode.
fn values(law: &Law, hints: &AppParameters, mode: BufferMode) -> Vec<(&'static Slot, ParamValue<'static>)> {
    let free = hints.playout_buffer_free_bytes;
    let takes_both = law.slot("pob_free_bytes").is_some();
    let buffer = match mode {
        BufferMode::Free if !takes_both => free.unwrap_or(hints.playout_buffer_bytes),
        BufferMode::Free | BufferMode::Size => hints.playout_buffer_bytes,
    };
    let number = |name: &str, value: f64| {
        let slot = law.slot(name)?;
        Some((slot, ParamValue::Number(value.round().clamp(slot.spec.range().0, slot.spec.range().1))))
    };
    let flag = |name: &str, value: bool| law.slot(name).map(|slot| (slot, ParamValue::Flag(value)));
    let settings = [
        number("pob_bytes", buffer as f64),
        number("pob_free_bytes", free.map_or(UNREPORTED, |bytes| bytes as f64)),
        number("video_kbps", hints.video_rate.as_bits_per_sec() as f64 / 1e3),
        number("object_bytes", hints.object_bytes.unwrap_or(0) as f64),
        number("object_ms", hints.object_duration.map_or(0.0, |length| length.as_secs_f64() * 1e3)),
        flag("urgent", hints.is_urgent),
        number("top_kbps", hints.top_rate.map_or(0.0, |top| top.as_bits_per_sec() as f64 / 1e3)),
    ];
    settings.into_iter().flatten().collect()
}

/// A request as nginx forwarded it.
struct Question<'a> {
    peer: SocketAddr,
    /// The server's end of the connection.
    local: Option<SocketAddr>,
    /// Query of the original request, if it carries client data.
    query: Option<&'a str>,
    head: &'a Head,
    /// Body of a POST.
    body: &'a str,
}

impl<'a> Question<'a> {
    fn of(head: &'a Head, body: &'a str) -> Option<Question<'a>> {
        let peer = peer(head.field("X-Playpath-Peer")?)?;
        let query = head.field("X-Playpath-Uri").and_then(|uri| uri.split_once('?')).map(|(_, query)| query);
        let query = query.filter(|q| q.split('&').any(|part| part.starts_with("CMCD=")));
        let local = head.field("X-Playpath-Local").and_then(self::peer);
        Some(Question { peer, local, query, head, body })
    }

    /// Size of the requested object, bytes: the file that nginx will serve, or a part of it. The range is unchecked input of the client: if
    /// the size of the file is unknown, it is used only with both ends.
    fn object_bytes(&self) -> Option<u64> {
        let file = self.head.field("X-Playpath-File").and_then(|file| fs::metadata(file).ok());
        let size = file.filter(fs::Metadata::is_file).map(|file| file.len());
        let range = self.head.field("Range").map(|range| Range::parse(range, size.unwrap_or(u64::MAX)));
        match range {
            Some(Range::Part(first, last)) if size.is_some() || last < u64::MAX - 1 => Some(last - first + 1),
            _ => size,
        }
    }
}

/// An address and a port as nginx's `$remote_addr:$remote_port` has them: IPv6 without brackets, or with.
fn peer(text: &str) -> Option<SocketAddr> {
    let plain = || text.rsplit_once(':').and_then(|(ip, port)| Some((ip.parse().ok()?, port.parse().ok()?)));
    text.parse().ok().or_else(|| plain().map(|(ip, port): (IpAddr, u16)| SocketAddr::new(ip, port)))
}

fn read_request(stream: &mut UnixStream, deadline: Instant) -> std::io::Result<(Head, String)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        if let Some(head) = Head::of_request(&bytes).map_err(std::io::Error::other)? {
            let length = head.field("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
            if let Some(body) = bytes[head.length..].get(..length) {
                let body = String::from_utf8_lossy(body).into_owned();
                return Ok((head, body));
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut chunk)?;
        if count == 0 || bytes.len() + count > MAX_HEAD_BYTES + MAX_BODY {
            return Err(std::io::Error::other("a request that does not end"));
        }
        bytes.extend_from_slice(&chunk[..count]);
    }
}

#[cfg(test)]
mod tests;
