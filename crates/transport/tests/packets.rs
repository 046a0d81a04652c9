//! Packet scripts: `tests/packets/*.pkt` against one endpoint. The language is described in `tests/packets/README.md`.

mod support;

use playpath_cc::{EcnUse, Stack};
use playpath_transport::config::{
    DelayedAck, HeaderSize, InitialWindow, LossDetection, Pacing, PartialAckTimer, Recovery, Validation,
};
use playpath_transport::{AccEcn, Config, Connection, Ecn, Event, Flags, Segment, SynOptions, Timestamps};
use playpath_units::{Duration, Time};
use std::collections::VecDeque;
use std::path::Path;
use support::Reno;

#[test]
fn scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/packets");
    let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|e| e == "pkt"));
    names.sort();
    assert!(names.len() >= 20, "scripts are missing from {folder:?}");
    let mut failures = vec![];
    for path in &names {
        let text = std::fs::read_to_string(path).unwrap();
        let says = text.lines().any(|line| line == "holds linux" || line.strip_prefix("holds ours: ").is_some());
        assert!(says, "{path:?} does not say whether it holds for Linux");
        if let Err(message) = Script::default().run(&text) {
            failures.push(format!("{}:{message}", path.file_name().unwrap().to_string_lossy()));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// A script that is wrong must fail: the runner itself is under test.
#[test]
fn a_wrong_expectation_fails() {
    let good = "config linux mss=1000 timestamps=off\nestablished server rtt=0.1\n+0 write 1000\n+0 > . 1:1001 ack 1\n";
    assert_eq!(Script::default().run(good), Ok(()));
    for (from, to) in [("1:1001", "1:1000"), ("+0 >", "+0.1 >"), ("ack 1\n", "ack 2\n"), ("+0 > . 1:1001 ack 1\n", "")]
    {
        assert!(Script::default().run(&good.replace(from, to)).is_err(), "{to}");
    }
}

#[derive(Default)]
struct Script {
    config: Option<Config>,
    control: (String, f64),
    /// Whose habits the control has; by profile.
    stack: Option<Stack>,
    endpoint: Option<Connection>,
    now: Time,
    sent: VecDeque<(Time, Segment)>,
    events: VecDeque<Event>,
    auto_read: bool,
    peer_window: u32,
}

type Outcome<T = ()> = Result<T, String>;

impl Script {
    fn run(&mut self, text: &str) -> Outcome {
        self.auto_read = true;
        for (i, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap().trim();
            if !line.is_empty() {
                self.line(line).map_err(|message| format!("{}: {message}   in `{line}`", i + 1))?;
            }
        }
        self.nothing_left().map_err(|m| format!("end: {m}"))
    }

    fn line(&mut self, line: &str) -> Outcome {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[0] {
            "holds" => return Ok(()), // for Linux or not: `tests/testbed/kernel_tcp.py`
            "config" => return self.configure(&words[1..]),
            "established" => return self.establish(&words[1..]),
            _ => {}
        }
        let at = self.time(words[0])?;
        if words[1] == ">" {
            return self.expect_segment(at, &words[2..]);
        }
        self.advance(at);
        match words[1] {
            "<" => {
                self.nothing_left()?;
                let segment = self.segment(&words[2..])?;
                let endpoint = self.endpoint();
                endpoint.handle_segment(at, &segment);
            }
            "listen" => self.open(false)?,
            "connect" => self.open(true)?,
            "write" => {
                let bytes = number(words[2])?;
                self.endpoint().write(bytes);
            }
            "read" => {
                let (most, wanted) = (number(words[2])?, words.get(3).map(|w| number(w)).transpose()?);
                let taken = self.endpoint().read(most);
                if wanted.is_some_and(|w| w != taken) {
                    return Err(format!("read {taken}"));
                }
            }
            "noread" => self.auto_read = false,
            "close" => self.endpoint().close(),
            "abort" => self.endpoint().abort(),
            "expect" => return self.expect_state(&words[2..]),
            "event" => return self.expect_event(words[2]),
            "none" => return self.nothing_left(),
            other => return Err(format!("unknown action {other}")),
        }
        self.drain();
        Ok(())
    }

    fn endpoint(&mut self) -> &mut Connection {
        self.endpoint.as_mut().expect("`listen`, `connect` or `established` comes first")
    }

    fn time(&self, word: &str) -> Outcome<Time> {
        let (base, digits) = match word.strip_prefix('+') {
            Some(rest) => (self.now, rest),
            None => (Time::ZERO, word),
        };
        Ok(base + Duration::from_secs_f64(digits.parse().map_err(|_| format!("`{word}` is not a time"))?))
    }

    /// Let time pass up to `at`, timers included.
    fn advance(&mut self, at: Time) {
        while let Some(endpoint) = &mut self.endpoint {
            let due = endpoint.poll_timeout();
            if due > at {
                break;
            }
            self.now = self.now.max(due);
            endpoint.handle_timeout(self.now);
            self.drain();
        }
        self.now = at;
    }

    fn drain(&mut self) {
        let (now, reads) = (self.now, self.auto_read);
        let Some(endpoint) = self.endpoint.as_mut() else { return };
        if reads {
            endpoint.read(u64::MAX);
        }
        while let Some(segment) = endpoint.poll_transmit(now) {
            self.sent.push_back((now, segment));
        }
        while let Some(event) = endpoint.poll_event() {
            self.events.push_back(event);
        }
    }

    fn nothing_left(&mut self) -> Outcome {
        match self.sent.pop_front() {
            Some((at, segment)) => Err(format!("not expected at {at}: {}", show(&segment))),
            None => Ok(()),
        }
    }

    fn open(&mut self, is_active: bool) -> Outcome {
        let config = self.config.ok_or("`config` comes first")?;
        let iw = if self.control.1 > 0.0 { self.control.1 } else { config.initial_window() };
        let cc = match self.control.0.as_str() {
            "fixed" => Reno::fixed(iw),
            name => {
                let entry = playpath_cc::find(name).ok_or(format!("no control {name}"))?;
                (entry.build)(&entry.params_of(self.stack.unwrap_or(Stack::Rfc)), iw)
            }
        };
        self.endpoint =
            Some(if is_active { Connection::connect(self.now, config, cc) } else { Connection::listen(config, cc) });
        Ok(())
    }

    fn configure(&mut self, words: &[&str]) -> Outcome {
        let mut config = Config::profile(words[0]).ok_or("no such profile")?;
        self.stack = Stack::find(words[0]).filter(|_| words[0] == "linux");
        self.control = ("newreno".into(), 0.0);
        self.peer_window = 1_000_000;
        for word in &words[1..] {
            let (key, value) = word.split_once('=').ok_or(format!("`{word}` is not key=value"))?;
            self.set(&mut config, key, value)?;
        }
        config.isn = 0;
        self.config = Some(config);
        Ok(())
    }

    fn set(&mut self, config: &mut Config, key: &str, value: &str) -> Outcome {
        let switch = value == "on";
        match key {
            "cc" => self.control.0 = value.into(),
            "cwnd" => self.control.1 = value.parse().map_err(|_| "cwnd")?,
            "peer_window" => self.peer_window = number(value)? as u32,
            "mss" => config.mss = number(value)? as u32,
            "iw" => config.iw = InitialWindow::Packets(number(value)? as u32),
            "header" => config.header = HeaderSize::Fixed(number(value)? as u8),
            "sack" => config.sack = switch,
            "timestamps" => config.timestamps = switch,
            "ecn" => config.ecn = switch,
            "ecn_use" => {
                config.ecn_use = match value {
                    "counts" => EcnUse::Counts,
                    "l4s" => EcnUse::LowLatency,
                    other => return Err(format!("unknown use of ECN {other}")),
                }
            }
            "nagle" => config.nagle = switch,
            "counts_window_updates" => config.counts_window_updates = switch,
            "counts_deliveries" => config.counts_deliveries = switch,
            "limited_transmit" => config.limited_transmit = switch,
            "frto" => config.undo.frto = switch,
            "undo_dsack" => config.undo.dsack = switch,
            "eifel" => config.undo.eifel = switch,
            "max_burst" => config.max_burst = Some(number(value)? as u32),
            "pacing" => config.pacing = Pacing::Gain(value.parse().map_err(|_| "pacing")?),
            "send_buffer" => config.send_buffer = number(value)?,
            "receive_buffer" => config.receive_buffer = number(value)?,
            "delayed_ack" => {
                config.delayed_ack = match value {
                    "off" => DelayedAck::Off,
                    "linux" => DelayedAck::Linux,
                    _ => DelayedAck::Rfc(Duration::from_millis(number(value)?)),
                };
                // The scripts of another rule are of a window that stays as it is.
                config.tunes_window = config.delayed_ack == DelayedAck::Linux;
            }
            "detection" => {
                config.loss_detection = match value {
                    "rack" => LossDetection::RackTlp,
                    "rfc6675" => LossDetection::Rfc6675,
                    "impatient" => LossDetection::NewReno(PartialAckTimer::Impatient),
                    "reno" => LossDetection::Reno,
                    "ns2_vegas" => LossDetection::Ns2Vegas,
                    "steady" => LossDetection::NewReno(PartialAckTimer::SlowButSteady),
                    _ => return Err(format!("detection {value}")),
                }
            }
            "recovery" => {
                config.recovery = match value {
                    "prr" => Recovery::Prr,
                    "rfc6675" => Recovery::Rfc6675,
                    "newreno" => Recovery::NewReno,
                    _ => return Err(format!("recovery {value}")),
                }
            }
            "validation" => {
                config.validation = match value {
                    "none" => Validation::None,
                    "rfc2861" => Validation::Rfc2861,
                    "newcwv" => Validation::NewCwv,
                    "newcwv_2013" => Validation::NewCwv2013,
                    _ => return Err(format!("validation {value}")),
                }
            }
            _ => return Err(format!("unknown setting {key}")),
        }
        Ok(())
    }

    /// `established client|server rtt=SECONDS`: a handshake with a peer that has every feature, of that RTT.
    fn establish(&mut self, words: &[&str]) -> Outcome {
        let rtt = words[1].strip_prefix("rtt=").ok_or("rtt=SECONDS")?;
        let (window, ecn) = (self.peer_window, self.config.is_some_and(|c| c.ecn));
        let steps = match words[0] {
            "server" => vec![
                "+0 listen".into(),
                format!("+0 < S 0:0 win {window} mss 1460 sackok wscale 7 ts 1 0 ecnok"),
                format!("+0 > S{} *", if ecn { "E." } else { "." }),
                format!("+{rtt} < . 1:1 ack 1 win {window} ts 2 1"),
                "+0 event Connected".into(),
            ],
            "client" => vec![
                "+0 connect".into(),
                format!("+0 > S{} *", if ecn { "EW" } else { "" }),
                format!("+{rtt} < S. 0:0 ack 1 win {window} mss 1460 sackok wscale 7 ts 1 1 ecnok"),
                "+0 > . 1:1 ack 1".into(),
                "+0 event Connected".into(),
            ],
            other => return Err(format!("unknown side {other}")),
        };
        steps.iter().try_for_each(|step| self.line(step))
    }

    /// A segment from the peer.
    fn segment(&self, words: &[&str]) -> Outcome<Segment> {
        let mut segment = Segment { flags: flags(words[0])?, window: self.peer_window, ..Segment::default() };
        let (seq, len) = range(words[1])?;
        (segment.seq, segment.payload_len) = (seq, len);
        let config = self.config.ok_or("`config` comes first")?;
        let mut rest = words[2..].iter();
        while let Some(word) = rest.next() {
            let mut value = || rest.next().ok_or("a value is missing").map_err(String::from).and_then(|w| number(w));
            match *word {
                "ack" => segment.ack = value()? as u32,
                "win" => segment.window = value()? as u32,
                "mss" => segment.syn_options.mss = value()? as u16,
                "wscale" => segment.syn_options.window_scale = Some(value()? as u8),
                "sackok" => segment.syn_options.sack_permitted = true,
                "ecnok" if !config.ecn => {}
                "ecnok" if segment.flags.contains(Flags::ACK) => segment.flags = segment.flags.with(Flags::ECE),
                "ecnok" => segment.flags = segment.flags.with(Flags::ECE).with(Flags::CWR),
                "ce" => segment.ecn = Ecn::Ce,
                "ect0" => segment.ecn = Ecn::Ect0,
                "ect1" => segment.ecn = Ecn::Ect1,
                "ts" => {
                    let (value_field, echo) = (value()? as u32, value()? as u32);
                    if config.timestamps {
                        segment.timestamps = Some(Timestamps { value: value_field, echo });
                    }
                }
                option if option.starts_with("accecn") => segment.accecn = accecn(option)?,
                block if block.contains(':') => {
                    let (left, len) = range(block)?;
                    segment.sack.push(left, left.wrapping_add(len));
                }
                "sack" => {}
                other => return Err(format!("unknown word {other}")),
            }
        }
        Ok(segment)
    }

    /// The next segment that the endpoint sent: its time, and every field that the line names.
    fn expect_segment(&mut self, at: Time, words: &[&str]) -> Outcome {
        if self.sent.is_empty() {
            self.advance(at);
        }
        let (when, got) = self.sent.pop_front().ok_or("nothing was sent")?;
        if when.as_nanos().abs_diff(at.as_nanos()) > 1000 {
            return Err(format!("sent at {when} ({} s), not at {at}: {}", when.as_secs_f64(), show(&got)));
        }
        self.now = self.now.max(at);
        let wanted_flags = flags(words[0])?;
        let fail = |what: &str| Err(format!("{what} differs, got {}", show(&got)));
        // PSH carries no meaning here.
        if got.flags.0 & !Flags::PSH.0 != wanted_flags.0 {
            return fail("flags");
        }
        if words[1] == "*" {
            return Ok(());
        }
        let (seq, len) = range(words[1])?;
        if (got.seq, got.payload_len) != (seq, len) {
            return fail("range");
        }
        let mut rest = words[2..].iter();
        let mut blocks = vec![];
        while let Some(word) = rest.next() {
            let mut value = || rest.next().ok_or("a value is missing").map_err(String::from).and_then(|w| number(w));
            match *word {
                "ack" if got.ack != value()? as u32 => return fail("ack"),
                "win" if got.window != value()? as u32 => return fail("win"),
                "mss" if got.syn_options.mss != value()? as u16 => return fail("mss"),
                "wscale" if got.syn_options.window_scale != Some(value()? as u8) => return fail("wscale"),
                "echo" if got.timestamps.map(|t| t.echo) != Some(value()? as u32) => return fail("echo"),
                "ack" | "win" | "mss" | "wscale" | "echo" | "sack" => {}
                "sackok" if got.syn_options.sack_permitted => {}
                "ect0" if got.ecn == Ecn::Ect0 => {}
                "ect1" if got.ecn == Ecn::Ect1 => {}
                "notect" if got.ecn == Ecn::NotEct => {}
                option if option.starts_with("accecn") && got.accecn == accecn(option)? => {}
                block if block.contains(':') => {
                    let (left, len) = range(block)?;
                    blocks.push((left, left.wrapping_add(len)));
                }
                other => return fail(other),
            }
        }
        if got.sack.as_slice() != blocks { fail("sack") } else { Ok(()) }
    }

    fn expect_state(&mut self, words: &[&str]) -> Outcome {
        let endpoint = self.endpoint();
        let (info, stats, config) = (endpoint.info(), endpoint.stats(), *endpoint.config());
        for word in words {
            let (key, value) = word.split_once('=').ok_or("key=value")?;
            let got = match key {
                "cwnd" => format!("{}", info.path.cwnd),
                "ssthresh" => format!("{}", info.path.ssthresh),
                "in_flight" => format!("{}", info.path.in_flight),
                "unacked" => format!("{}", info.path.unacked),
                "sacked" => format!("{}", info.path.sacked),
                "lost" => format!("{}", info.path.lost),
                "retrans" => format!("{}", info.path.retrans),
                "total_retrans" => format!("{}", info.path.total_retrans),
                "ca_state" => info.ca_state.into(),
                "srtt_ms" => format!("{}", info.path.rtt.as_millis_f64()),
                "rto_ms" => format!("{}", info.rto.as_millis_f64()),
                "min_rtt_ms" => format!("{}", info.path.min_rtt.map_or(0.0, Duration::as_millis_f64)),
                "rto_count" => format!("{}", stats.rto_count),
                "undos" => format!("{}", stats.spurious_undos),
                "probes" => format!("{}", stats.tlp_probes),
                "dsacks" => format!("{}", stats.dsacks_received),
                "ecn_reductions" => format!("{}", stats.ecn_reductions),
                "marked" => format!("{}", stats.packets_marked),
                "state" => endpoint.state_name().into(),
                "app_limited" => format!("{}", info.app_limited),
                "mss" => format!("{}", config.mss),
                _ => return Err(format!("unknown field {key}")),
            };
            if got != value {
                return Err(format!("{key} is {got}"));
            }
        }
        Ok(())
    }

    fn expect_event(&mut self, name: &str) -> Outcome {
        let event = self.events.pop_front().ok_or("no event")?;
        let got = format!("{event:?}");
        if got == name { Ok(()) } else { Err(format!("event is {got}")) }
    }
}

fn number(word: &str) -> Outcome<u64> {
    word.parse().map_err(|_| format!("`{word}` is not a number"))
}

/// `first:end` as (first, length).
fn range(word: &str) -> Outcome<(u32, u32)> {
    let (first, end) = word.split_once(':').ok_or(format!("`{word}` is not first:end"))?;
    let (first, end) = (number(first)? as u32, number(end)? as u32);
    Ok((first, end.wrapping_sub(first)))
}

/// `accecn0=E0B,CEB,E1B`, `accecn1=E1B,CEB,E0B`, with as many counters as the option has; `accecn=none`.
fn accecn(word: &str) -> Outcome<Option<AccEcn>> {
    let (name, list) = word.split_once('=').ok_or("accecn0=…")?;
    let mut listed = list.split(',').filter(|counter| !counter.is_empty()).map(number);
    let is_reversed = match name {
        "accecn" => return Ok(None),
        "accecn0" => false,
        "accecn1" => true,
        other => return Err(format!("unknown option {other}")),
    };
    let mut counters = [0; 3];
    let mut count = 0;
    for slot in &mut counters {
        let Some(counter) = listed.next() else { break };
        (*slot, count) = (counter? as u32, count + 1);
    }
    if is_reversed {
        counters.reverse();
    }
    Ok(Some(AccEcn::new(counters, is_reversed, count)))
}

fn flags(word: &str) -> Outcome<Flags> {
    word.chars().try_fold(Flags::default(), |flags, letter| {
        Ok(flags.with(match letter {
            'S' => Flags::SYN,
            'F' => Flags::FIN,
            'R' => Flags::RST,
            '.' => Flags::ACK,
            'E' => Flags::ECE,
            'W' => Flags::CWR,
            'P' => Flags::PSH,
            'A' => Flags::AE,
            other => return Err(format!("unknown flag {other}")),
        }))
    })
}

fn show(segment: &Segment) -> String {
    let letters: String = [
        (Flags::SYN, 'S'),
        (Flags::FIN, 'F'),
        (Flags::RST, 'R'),
        (Flags::ACK, '.'),
        (Flags::ECE, 'E'),
        (Flags::CWR, 'W'),
        (Flags::AE, 'A'),
    ]
    .iter()
    .filter(|(flag, _)| segment.flags.contains(*flag))
    .map(|(_, letter)| *letter)
    .collect();
    let end = segment.seq.wrapping_add(segment.payload_len);
    let SynOptions { mss, window_scale, sack_permitted } = segment.syn_options;
    format!(
        "{letters} {}:{end} ack {} win {} sack {:?} ecn {:?} accecn {:?} ts {:?} syn ({mss}, {window_scale:?}, {sack_permitted})",
        segment.seq,
        segment.ack,
        segment.window,
        segment.sack.as_slice(),
        segment.ecn,
        segment.accecn.map(|option| option.counters()),
        segment.timestamps.map(|t| (t.value, t.echo)),
    )
}
