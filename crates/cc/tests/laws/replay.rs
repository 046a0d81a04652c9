//! The kernel controls' arithmetic against the Rust controllers, event by event.
//!
//! A congestion control is written twice: in Rust for the simulator (crates/cc), in C with fixed point for the kernel
//! (bpf/law_*.h). [`Replay`] feeds a Rust controller and writes down what it was fed and what it answered; then `driver.c`, which
//! holds the C law compiled for this machine, gets the same events, and the answers are compared. It needs a C compiler, no
//! root and no BPF.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use playpath_cc::kernel::{Block, Law};
use playpath_cc::{
    Ack, AppParameters, CongestionControl, CongestionEvent, CongestionSignal, IdleRestart, PacketLost, PacketSent,
    ParamValue, RecoveryExit, Rto, Stack, Undo, View, find,
};
use playpath_units::Duration;
use playpath_units::random::RootSeed;

/// Of a law's pacing rate, beside what its window is off: it is a product of numbers rounded to a thousandth.
const PACING_ERROR: f64 = 1e-3;

/// Compiles `driver.c` with the law of a family (`bpf/law_FAMILY.h`) into `folder`.
pub fn compile_driver(family: &str, folder: &Path) -> PathBuf {
    let header = format!("-DHEADER=\"../../../../bpf/law_{family}.h\"");
    compile("driver.c", &[format!("-DFAMILY={family}"), header], folder.join(family))
}

/// Compiles `source` of this folder. Panics without a compiler: Rust needs one to link, so it is there. Another run of the tests
/// may use the same folder: the program appears whole or not at all.
pub fn compile(source: &str, defines: &[String], program: PathBuf) -> PathBuf {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let partial = program.with_extension(std::process::id().to_string());
    let folder = partial.with_extension("headers");
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    std::fs::write(folder.join("law_params.h"), playpath_cc::kernel::header()).expect("the target folder is writable");
    let output = Command::new(&compiler)
        .args(["-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-parameter"])
        .args(["-fsanitize=undefined", "-fno-sanitize-recover=all", "-fsanitize-undefined-trap-on-error"])
        .args(defines)
        .arg("-I")
        .arg(&folder)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/laws").join(source))
        .arg("-o")
        .arg(&partial)
        .output()
        .unwrap_or_else(|e| panic!("no C compiler: {compiler}: {e}"));
    assert!(output.status.success(), "{source} does not compile:\n{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&partial, &program).unwrap_or_else(|e| panic!("{}: {e}", program.display()));
    program
}

/// A Rust controller that is being recorded.
pub struct Replay {
    /// The controller.
    pub cc: Box<dyn CongestionControl>,
    /// What stands for it in the kernel.
    pub law: &'static Law,
    block: Block,
    /// SND.UNA, and where Vegas's round ends, in packets.
    una: u64,
    round_end: u64,
    lost_offset: u64,
    script: String,
    answers: Vec<Answer>,
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    cwnd: f64,
    ssthresh: f64,
    /// Bytes a second.
    pacing: Option<f64>,
    after_rto: bool,
}

impl Replay {
    /// The control `name` as Linux has it, besides what is `set`, and the law that stands for it, with the same settings.
    pub fn new(name: &str, set: &[(&str, ParamValue)], initial_window: u32) -> Replay {
        let entry = find(name).unwrap_or_else(|| panic!("no controller {name}"));
        let mut params = entry.params_of(Stack::Linux);
        for (key, value) in set {
            match value {
                ParamValue::Number(x) => params.set_number(key, *x),
                ParamValue::Flag(x) => params.set_flag(key, *x),
                ParamValue::Word(x) => params.set_word(key, x),
            }
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        let on_kernel = entry.on_kernel(&params, false).unwrap_or_else(|e| panic!("{name}: {e}"));
        let law = on_kernel.control.law().unwrap_or_else(|| panic!("{name} has no law of ours"));
        let mut replay = Replay {
            cc: (entry.build)(&params, f64::from(initial_window)),
            law,
            block: law.defaults(),
            una: 0,
            round_end: 0,
            lost_offset: 0,
            script: format!("{name} {initial_window}\n"),
            answers: Vec::new(),
        };
        replay.set_law(&on_kernel.settings);
        replay
    }

    /// Set parameters of the law.
    fn set_law(&mut self, settings: &[(&str, ParamValue)]) {
        for (key, value) in settings {
            let slot = self.law.slot(key).unwrap_or_else(|| panic!("{} has no {key}", self.law.name));
            self.law.set(&mut self.block, slot, *value).unwrap_or_else(|e| panic!("{e}"));
        }
        let words: Vec<String> = self.block.iter().map(u32::to_string).collect();
        self.write(format_args!("p {}", words.join(" ")));
    }

    /// Tell both of the video; `to_law` is what the law has of it.
    pub fn report_to(&mut self, view: &View, parameters: &AppParameters, to_law: &[(&str, ParamValue)]) {
        self.cc.on_app_parameters(view, parameters);
        self.view(view);
        self.set_law(to_law);
        self.write(format_args!("r"));
    }

    /// An acknowledgement.
    pub fn ack(&mut self, view: &View, ack: &Ack) {
        self.view(view);
        let round_start = if self.law.family == "vegas" { self.ends_round(view, ack) } else { ack.round_start };
        let (delivered, interval, limited) = ack.rate.map_or((0, 0, 0), |rate| {
            (rate.delivered, rate.interval.as_nanos() / 1000, u32::from(rate.is_app_limited))
        });
        let (at, tx_in_flight, since) =
            ack.rate.map_or((0, 0, 0), |rate| (rate.prior_delivered, rate.tx_in_flight, rate.lost));
        self.write(format_args!(
            "a {} {} {} {} {delivered} {interval} {limited} {} {} {} {} {at} {tx_in_flight} {since}",
            ack.counted,
            ack.delivered,
            ack.newly_lost,
            ack.rtt.map_or(0, |rtt| rtt.as_nanos() / 1000),
            u32::from(ack.may_grow),
            u32::from(round_start),
            u32::from(view.in_recovery),
            ack.prior_in_flight,
        ));
        self.pass_packet_events(view, ack);
        self.cc.on_ack(view, ack);
        self.note(false);
    }

    /// What Linux does not call a control for, as BBR v3's law makes it of an ACK (`law_bbr3.h`): the last packet that was sent,
    /// and a lost one, a range of its own, sent as the sampled packet was.
    fn pass_packet_events(&mut self, view: &View, ack: &Ack) {
        if ack.prior_in_flight > 0 {
            let prior_in_flight = ack.prior_in_flight - 1;
            let sent = PacketSent { now: view.now, payload_bytes: view.mss, is_retransmission: false, prior_in_flight };
            self.cc.on_packet_sent(&sent);
        }
        if ack.newly_lost > 0 {
            self.lost_offset += 2 * u64::from(view.mss);
            let (tx_in_flight, lost_since_sent, is_app_limited) =
                ack.rate.map_or((1, 0, false), |rate| (rate.tx_in_flight, rate.lost, rate.is_app_limited));
            let (offset, payload_bytes) = (self.lost_offset, view.mss);
            self.cc.on_packet_lost(
                view,
                &PacketLost { offset, payload_bytes, tx_in_flight, lost_since_sent, is_app_limited },
            );
        }
    }

    /// As the kernel half sees it (`window.bpf.h`): SND.UNA passes what was SND.NXT when the round began.
    fn ends_round(&mut self, view: &View, ack: &Ack) -> bool {
        self.una += u64::from(ack.acked);
        let ends = self.una > self.round_end;
        if ends {
            self.round_end = self.una + u64::from(view.flight_size);
        }
        ends
    }

    /// A congestion episode begins.
    pub fn congestion(&mut self, view: &View, event: &CongestionEvent) {
        self.view(view);
        self.write(format_args!("c {}", u32::from(event.signal == CongestionSignal::Ecn)));
        self.cc.on_congestion(view, event);
        self.note(false);
    }

    /// A recovery ends.
    pub fn recovery_exit(&mut self, view: &View, event: &RecoveryExit) {
        self.view(view);
        self.write(format_args!("e"));
        self.cc.on_recovery_exit(view, event);
        self.note(false);
    }

    /// The retransmission timer expires.
    pub fn rto(&mut self, view: &View, event: &Rto) {
        self.view(view);
        self.write(format_args!("t {} {}", event.flight_size, u32::from(event.reduces)));
        self.cc.on_rto(view, event);
        self.note(true);
    }

    /// The last reduction was spurious.
    pub fn undo(&mut self, view: &View) {
        self.view(view);
        self.write(format_args!("u"));
        self.cc.on_undo(view, &Undo { was_rto: false });
        self.note(false);
    }

    /// The first packet after a pause.
    pub fn wake(&mut self, view: &View, idle: Duration) {
        self.view(view);
        self.write(format_args!("w"));
        self.cc.on_idle_restart(view, &IdleRestart { idle, silent: idle, is_app_limited: true });
    }

    /// Feed the law in `program` the same events. `tolerance` is in packets, `tolerance_after_rto` from the first timeout on:
    /// Linux's ssthresh is whole, so the slow start after a timeout ends up to a packet apart. Returns the largest difference
    /// of windows before and after the first timeout.
    pub fn compare(&self, program: &Path, tolerance: f64, tolerance_after_rto: f64) -> (f64, f64) {
        let lines = run(program, &self.script);
        assert_eq!(lines.len(), self.answers.len(), "one answer per event");
        let (mut largest, mut largest_after) = (0.0_f64, 0.0_f64);
        let mut after_rto = false;
        for (i, (line, rust)) in lines.iter().zip(&self.answers).enumerate() {
            after_rto |= rust.after_rto;
            let (cwnd, ssthresh, pacing) = parse(line);
            let difference = (cwnd - rust.cwnd).abs();
            let (allowed, so_far) = match after_rto {
                false => (tolerance, &mut largest),
                true => (tolerance_after_rto, &mut largest_after),
            };
            *so_far = so_far.max(difference);
            assert!(difference <= allowed, "event {i}: cwnd {cwnd} in C, {} in Rust", rust.cwnd);
            let rust_ssthresh = rust.ssthresh.min(f64::from(0x7fff_ffff));
            assert!(
                (ssthresh - rust_ssthresh).abs() <= 1.0 + allowed,
                "event {i}: ssthresh {ssthresh}, {rust_ssthresh}"
            );
            assert_eq!(pacing.is_some(), rust.pacing.is_some(), "event {i}: who paces");
            let rates = pacing.zip(rust.pacing).filter(|_| allowed < 0.1 * cwnd);
            assert!(
                rates.is_none_or(|(c, rust)| (c - rust).abs() <= 1.0 + rust * (allowed / cwnd + PACING_ERROR)),
                "event {i}: paced at {rates:?}"
            );
        }
        (largest, largest_after)
    }

    fn view(&mut self, view: &View) {
        self.write(format_args!(
            "v {} {} {} {} {} {} {} {} {} {}",
            view.now.as_nanos() / 1000,
            view.mss,
            view.srtt.as_nanos() / 1000,
            view.in_flight,
            view.flight_size,
            view.sent,
            view.min_rtt.as_nanos() / 1000,
            view.delivered,
            view.lost,
            random(view),
        ));
        // The own subflow is member 0.
        for (i, sibling) in view.siblings.iter().enumerate() {
            self.write(format_args!(
                "s {i} {} {} {}",
                sibling.srtt.as_nanos() / 1000,
                (sibling.cwnd * 1024.0) as u32,
                sibling.bytes_between_losses.max(sibling.bytes_since_loss)
            ));
        }
    }

    fn note(&mut self, after_rto: bool) {
        let pacing = self.cc.pacing_rate().map(|rate| rate.as_bits_per_sec() as f64 / 8.0);
        self.answers.push(Answer { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh(), pacing, after_rto });
    }

    fn write(&mut self, line: std::fmt::Arguments) {
        writeln!(self.script, "{line}").expect("a String takes everything");
    }
}

/// What BBR v3 draws at this moment (`draws.rs` of crates/cc), as its law takes it: a coin below 31 bits of a share.
fn random(view: &View) -> u32 {
    let root = view.now.as_nanos() ^ view.delivered.rotate_left(40);
    let mut stream = RootSeed(root).stream("cc.bbr3.wait");
    let coin = u32::from(stream.chance(0.5));
    ((stream.uniform() * f64::from(1_u32 << 31)) as u32) << 1 | coin
}

/// Runs a program of this crate on `input` and returns its lines. Panics with its words if it fails.
pub fn run(program: &Path, input: &str) -> Vec<String> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{}: {e}", program.display()));
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_owned();
    #[expect(clippy::disallowed_methods, reason = "what the driver answers must be read while it is written to")]
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the program can be waited for");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    writer.join().expect("the writer does not panic").expect("the program reads its input");
    assert!(output.status.success(), "{}: {}\n{text}", program.display(), output.status);
    text.lines().map(String::from).collect()
}

fn parse(line: &str) -> (f64, f64, Option<f64>) {
    let numbers = line.split(' ').map(|word| word.parse::<f64>().expect("a number")).collect::<Vec<_>>();
    let [cwnd, ssthresh, pacing] = numbers[..] else { panic!("three numbers: {line}") };
    (cwnd / 65536.0, ssthresh, (pacing > 0.0).then_some(pacing))
}
