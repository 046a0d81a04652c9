//! What the congestion controls of a session's connections are told: that they belong together (coupled controls), and, through the
//! CMCD bridge, what the player reports.
//!
//! The bridge (`playpath-bpf agent`) is asked by the web server, which knows a session by the address of the connection to the
//! origin. It is told which connections carry the session: one short request on its Unix socket, without an answer, whenever they
//! change. Nothing here waits, and nothing that fails stops a stream.

use crate::log::Log;
use crate::options::Options;
use crate::session::RelaySession;
use playpath_units::Duration;
use socket2::{Domain, SockAddr, Socket, Type};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Where a coupled congestion control is told of groups.
const COUPLED: &[&str] = &["lia", "olia"];
/// How often a helper is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Helpers at work at once, and connections that wait for one: who opens connections faster stays uncoupled.
const MOST_HELPERS: usize = 4;
const MOST_WAITING: usize = 1024;

/// See the module.
#[derive(Default)]
pub struct Controls {
    /// `playpath-bpf` at work.
    helpers: Vec<Child>,
    /// What the next ones are to be told.
    waiting: VecDeque<[String; 3]>,
    /// The bridge did not listen; said once.
    is_bridge_missed: bool,
}

impl Controls {
    /// Tell what has changed in a session.
    pub fn tell(&mut self, session: &mut RelaySession, options: &Options, time_s: f64, log: &mut Log) {
        let opened = std::mem::take(&mut session.opened);
        if let Some(cc) = options.cc.as_deref().filter(|cc| is_coupled(cc)) {
            for peer in opened {
                self.couple(cc, session.group, peer, time_s, log);
            }
        }
        if let (Some(bridge), Some((name, carriers))) = (&options.bridge, session.take_carriers())
            && let Err(e) = tell_bridge(bridge, name, &carriers)
            && !std::mem::replace(&mut self.is_bridge_missed, true)
        {
            log.warn(time_s, &format!("players' reports reach no control: {}: {e}", bridge.display()));
        }
    }

    /// Equal `group` for the connections of a session.
    fn couple(&mut self, cc: &str, group: u32, peer: SocketAddr, time_s: f64, log: &mut Log) {
        if self.waiting.len() < MOST_WAITING {
            self.waiting.push_back([cc.into(), peer.to_string(), format!("group={group}")]);
        } else {
            log.warn(time_s, "connections come faster than they are coupled: some are not");
        }
        self.spawn(time_s, log);
    }

    fn spawn(&mut self, time_s: f64, log: &mut Log) {
        let program = std::env::var_os("PLAYPATH_BPF").unwrap_or_else(|| "playpath-bpf".into());
        while self.helpers.len() < MOST_HELPERS
            && let Some([cc, peer, group]) = self.waiting.pop_front()
        {
            let mut command = Command::new(&program);
            command.args(["set", &cc, "--peer", &peer, &group]);
            match command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn() {
                Ok(child) => self.helpers.push(child),
                Err(e) => log.warn(time_s, &format!("{cc} is not coupled: {}: {e}", program.to_string_lossy())),
            }
        }
    }

    /// Helpers that have ended are noted.
    pub fn settle(&mut self, time_s: f64, log: &mut Log) {
        let mut failed = false;
        self.helpers.retain_mut(|child| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                failed |= !status.success();
                false
            }
            Err(_) => false,
        });
        if failed {
            log.warn(time_s, "a connection was not coupled: playpath-bpf failed");
        }
        self.spawn(time_s, log);
    }

    /// When [`settle`](Self::settle) wants to be called again.
    pub fn patience(&self) -> Option<Duration> {
        (!self.helpers.is_empty()).then_some(LOOK)
    }

    /// The relay ends: so do its helpers, by themselves within a second.
    pub fn finish(&mut self) {
        for helper in &mut self.helpers {
            let _ = helper.wait();
        }
    }
}

fn is_coupled(cc: &str) -> bool {
    COUPLED.contains(&cc.split('.').next().unwrap_or_default())
}

/// A bridge that hangs has a full backlog: refused at once, for the socket does not block.
fn tell_bridge(bridge: &Path, session: SocketAddr, carriers: &[SocketAddr]) -> io::Result<()> {
    let mut socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.connect(&SockAddr::unix(bridge)?)?;
    socket.write_all(word(session, carriers).as_bytes())
}

fn word(session: SocketAddr, carriers: &[SocketAddr]) -> String {
    let mut text = format!("POST /carriers HTTP/1.0\r\nX-Playpath-Peer: {session}\r\nX-Playpath-Carriers:");
    for (index, carrier) in carriers.iter().enumerate() {
        let _ = write!(text, "{} {carrier}", if index > 0 { "," } else { "" });
    }
    text + "\r\n\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixListener;

    /// A hundred connections at once: as many processes as may be, the others wait, and what does not fit is told once.
    #[test]
    fn a_flood_of_connections_spawns_no_flood_of_processes() {
        let (mut controls, mut log) = (Controls::default(), Log::open(None).unwrap());
        let peer = "10.0.0.1:1".parse().unwrap();
        controls.helpers.extend((0..MOST_HELPERS).map(|_| Command::new("true").spawn().unwrap()));
        for group in 0..MOST_WAITING as u32 + 100 {
            controls.couple("olia", group, peer, 1.0, &mut log);
        }
        assert_eq!((controls.helpers.len(), controls.waiting.len()), (MOST_HELPERS, MOST_WAITING));
        assert_eq!(log.warnings.len(), 1);
        assert_eq!(controls.waiting[7], ["olia".to_string(), "10.0.0.1:1".into(), "group=7".into()]);
        controls.finish();
    }

    #[test]
    fn a_bridge_hears_of_a_session_and_one_that_is_gone_or_hangs_stops_nobody() {
        let path = std::env::temp_dir().join(format!("playpath-relay-bridge-{}", std::process::id()));
        let session = "127.0.0.1:4711".parse().unwrap();
        let carriers = ["10.77.0.2:1000", "[2001:db8::2]:2000"].map(|text| text.parse().unwrap());
        assert_eq!(tell_bridge(&path, session, &carriers).unwrap_err().kind(), io::ErrorKind::NotFound);
        let listener = UnixListener::bind(&path).unwrap();
        tell_bridge(&path, session, &carriers).unwrap();
        let mut heard = String::new();
        listener.accept().unwrap().0.read_to_string(&mut heard).unwrap();
        assert_eq!(
            heard,
            "POST /carriers HTTP/1.0\r\nX-Playpath-Peer: 127.0.0.1:4711\r\n\
             X-Playpath-Carriers: 10.77.0.2:1000, [2001:db8::2]:2000\r\n\r\n"
        );
        // Nobody accepts: the backlog of 4096 at most fills up, and then it is refused.
        let refused = (0..5000).find_map(|_| tell_bridge(&path, session, &[]).err());
        std::fs::remove_file(&path).unwrap();
        assert_eq!(refused.map(|e| e.kind()), Some(io::ErrorKind::WouldBlock));
    }
}
