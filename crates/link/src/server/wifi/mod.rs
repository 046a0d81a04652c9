//! A simple 802.11 hop: the link from one station to another, with backoff, retries, rate adaptation, aggregates, a varying signal, and
//! contending stations.
//!
//! Packets arrive later than over a cable and never earlier: access, retries and waiting for the retransmission of an earlier frame only
//! add delay. A packet whose retries are used up is lost.
//! Reference: IEEE Std 802.11-2016: access 10.3.4, aggregates 9.7 and 10.13, block acknowledgement with reordering 10.24;
//! timing in `phy.rs`, contention in `access.rs`, rates in `rate_control.rs`. Limits of an aggregate: 64 frames, 65 535 B,
//! 4 ms as Linux drivers keep.
//! Differences
//! 1. An aggregate consists of the packets waiting when it starts. Failed frames are retransmitted without new ones; new packets wait for
//!    the next aggregate.
//! 2. The two directions of a path do not share the medium: transmissions of the other direction cost no airtime here. `stations` models
//!    other traffic.
//! 3. Beacons, association, power saving and protection of older stations are left out.
//! 4. The signal-to-noise ratio varies as a first-order autoregressive process in dB, constant during a transmission.
//!
//! Implementation: the link calls the server for one packet after the other. When an aggregate starts, the server decides the fate of all
//! waiting packets; the link then takes them one by one. Their individual sizes are not known in advance, so the mean of the waiting
//! packets is assumed, and the next aggregate is longer or shorter by the error. A queue's management sees each at the time at which the
//! aggregate began, as Linux fetches them from the queue (mac80211); the queue's length and limit count them until they leave. Where
//! the management drops some of them, packets that came later take their places.
//!
//! Units: ns, bytes, dB. Invariants: departures never go back; no transmission overlaps another; the airtime of any span pays for
//! all bytes in it. Tested: `tests/wifi.rs` against Bianchi's throughput as ns-3 tabulates it, against the sum of the standard's
//! durations, rates against a fixed signal, loss against the retry limit; the balance with all other parts in `tests/properties.rs`.

mod access;
mod phy;
mod rate_control;

use crate::settings::{config, words};
use access::Access;
use phy::{MODES, Mode, SIFS};
use playpath_units::random::Stream;
use playpath_units::{Duration, Kind, Rate, Time};
use rate_control::Minstrel;
use std::collections::VecDeque;

words! {
    WifiStandard, STANDARDS {
        Legacy = "802.11g", "OFDM up to 54 Mbit/s; 802.11a is the same";
        Ht = "802.11n", "HT in 20 MHz with one stream, up to 65 Mbit/s, frames aggregated";
    }
}

words! {
    RateControl, RATE_CONTROLS {
        Minstrel = "minstrel", "Linux's: tries rates, and takes what has delivered most";
        Ideal = "ideal", "knows the signal: the rate that delivers most on average";
        Fixed = "fixed", "always the highest";
    }
}

config! {
    WifiConfig {
        standard: WifiStandard = text("802.11n", STANDARDS), "generation of the radio" since "0.2";
        snr: f64 = number(25.0, (-10.0, 60.0), "dB"), "mean signal-to-noise ratio" since "0.2";
        snr_sd: f64 = number(0.0, (0.0, 20.0), "dB"), "its standard deviation" since "0.2";
        coherence: Duration = text("100 ms", Kind::PositiveTime), "time in which its correlation falls to 1/e" since "0.2";
        rate_control: RateControl = text("minstrel", RATE_CONTROLS), "how the rate is chosen" since "0.2";
        retries: u32 = whole(7, (0, 255), ""), "transmissions of a frame after the first; then it is lost" since "0.2";
        aggregate: u32 = whole(32, (1, 64), "frames"), "most frames in one transmission; 802.11g sends one" since "0.2";
        stations: u32 = whole(0, (0, 100), ""), "other stations that always have something to send, each as much at a time" since "0.2";
    }
}

/// Most bytes and most airtime of an aggregate.
const MAX_BYTES: u64 = 65_535;
const MAX_AIRTIME: Duration = Duration::from_millis(4);
/// Size of the packets for which a nominal rate is given, and of those of other stations.
const USUAL_BYTES: u64 = 1500;

impl WifiConfig {
    fn max_frames(&self) -> u64 {
        match self.standard {
            WifiStandard::Legacy => 1,
            WifiStandard::Ht => u64::from(self.aggregate),
        }
    }

    fn is_aggregated(&self) -> bool {
        self.max_frames() > 1
    }

    /// The rate at which most is delivered at this ratio.
    fn best_rate(&self, snr: f64) -> usize {
        let frame = self.standard.frame_bytes(USUAL_BYTES, self.is_aggregated());
        let delivered =
            |mode: &Mode| f64::from(mode.bits_per_symbol) * (1.0 - self.standard.frame_loss(*mode, snr, frame));
        let modes = self.standard.modes();
        (0..MODES).fold(0, |best, rate| if delivered(&modes[rate]) > delivered(&modes[best]) { rate } else { best })
    }

    /// Frames of usual size in a full aggregate at this rate.
    fn full_aggregate(&self, mode: Mode) -> u64 {
        let frame = self.standard.frame_bytes(USUAL_BYTES, self.is_aggregated());
        let fits = |count: u64| count * frame <= MAX_BYTES && self.standard.airtime(mode, count * frame) <= MAX_AIRTIME;
        (1..=self.max_frames()).rev().find(|count| fits(*count)).unwrap_or(1)
    }

    fn full_airtime(&self, mode: Mode) -> Duration {
        let bytes = self.full_aggregate(mode) * self.standard.frame_bytes(USUAL_BYTES, self.is_aggregated());
        self.standard.airtime(mode, bytes) + SIFS + self.standard.answer(mode, self.is_aggregated())
    }

    /// Rate for packets of 1500 B without failures at the mean signal, this station's share if others contend; used for queue limits.
    pub fn nominal_rate(&self) -> Rate {
        let mode = self.standard.modes()[self.best_rate(self.snr)];
        // Half of the least contention window on average.
        let cycle = self.standard.pause() + phy::SLOT * 15 / 2 + self.full_airtime(mode);
        let bits = (self.full_aggregate(mode) * USUAL_BYTES * 8) as f64;
        Rate::from_bits_per_sec_f64(bits / cycle.as_secs_f64() / f64::from(self.stations + 1))
    }
}

/// A packet whose fate is decided.
#[derive(Clone, Copy, Debug)]
struct Planned {
    departure: Time,
    is_lost: bool,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    done_at: Option<Time>,
    is_lost: bool,
}

pub(crate) struct WifiServer {
    config: WifiConfig,
    access: Access,
    minstrel: Minstrel,
    stream: Stream,
    snr: f64,
    snr_at: Time,
    /// When the aggregate of the plan was made.
    began_at: Time,
    plan: VecDeque<Planned>,
    frames: Vec<Frame>,
    /// Bytes of each packet that the plan assumes, and by how much they were wrong so far.
    assumed_bytes: u64,
    owed_bytes: i64,
}

/// The packets in the queue behind a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub packets: u32,
    pub bytes: u64,
}

impl WifiServer {
    pub(crate) fn new(config: &WifiConfig, mut stream: Stream) -> WifiServer {
        let others = config.full_airtime(config.standard.modes()[config.best_rate(config.snr)]);
        WifiServer {
            access: Access::new(config.stations, config.standard.pause(), others, &mut stream),
            minstrel: Minstrel::new(),
            snr: config.snr + config.snr_sd * stream.normal(),
            stream,
            snr_at: Time::ZERO,
            began_at: Time::ZERO,
            plan: VecDeque::new(),
            frames: Vec::new(),
            assumed_bytes: 0,
            owed_bytes: 0,
            config: config.clone(),
        }
    }

    /// When a packet leaves that starts at `start`, and whether it is lost. `waiting` is called only when an aggregate starts.
    pub(crate) fn serve(&mut self, start: Time, wire_bytes: u32, waiting: impl FnOnce() -> Waiting) -> (Time, bool) {
        if self.plan.is_empty() {
            self.send(start, u64::from(wire_bytes), waiting());
        }
        let planned = self.plan.pop_front().expect("an aggregate has a frame");
        self.owed_bytes += i64::from(wire_bytes) - self.assumed_bytes as i64;
        (planned.departure.max(start), planned.is_lost)
    }

    /// Cancel the planned departures: the queue was shorter than expected (it may drop from its head).
    pub(crate) fn go_idle(&mut self) {
        self.plan.clear();
    }

    /// A packet of an aggregate leaves the queue when that begins: its time on the air is none in the queue.
    pub(crate) fn taken_at(&self, at: Time) -> Time {
        if self.plan.is_empty() { at } else { self.began_at }
    }

    /// Send an aggregate of the packet and those waiting, until every frame has been received or given up.
    fn send(&mut self, start: Time, first_bytes: u64, waiting: Waiting) {
        self.began_at = start;
        let packets = u64::from(waiting.packets) + 1;
        self.assumed_bytes = (first_bytes + waiting.bytes) / packets;
        let mut at = start;
        let mut failures = 0;
        self.frames.clear();
        while self.frames.iter().any(|frame| frame.done_at.is_none()) || self.frames.is_empty() {
            let turn = self.access.take_turn(at, &mut self.stream);
            let rate = self.pick_rate(turn.at, failures);
            if self.frames.is_empty() {
                let count = self.frames_that_fit(rate, packets);
                self.frames.resize(count as usize, Frame { done_at: None, is_lost: false });
            }
            at = self.transmit(turn.at, turn.collides, rate, failures);
            failures += 1;
        }
        self.plan_departures();
    }

    fn frames_that_fit(&self, rate: usize, packets: u64) -> u64 {
        let standard = self.config.standard;
        let frame = standard.frame_bytes(self.assumed_bytes, self.config.is_aggregated());
        let mode = standard.modes()[rate];
        let fits = |count: u64| count * frame <= MAX_BYTES && standard.airtime(mode, count * frame) <= MAX_AIRTIME;
        (2..=packets.min(self.config.max_frames())).rev().find(|count| fits(*count)).unwrap_or(1)
    }

    /// Transmits the frames not yet received. Returns the time at which the channel is free again.
    fn transmit(&mut self, at: Time, collides: bool, rate: usize, failures: u32) -> Time {
        let (standard, is_aggregated) = (self.config.standard, self.config.is_aggregated());
        let mode = standard.modes()[rate];
        let frame_bytes = standard.frame_bytes(self.assumed_bytes, is_aggregated);
        let open = self.frames.iter().filter(|frame| frame.done_at.is_none()).count() as u32;
        let bytes = (u64::from(open) * frame_bytes).saturating_add_signed(std::mem::take(&mut self.owed_bytes));
        let end = at + standard.airtime(mode, bytes);
        let loss = if collides { 1.0 } else { standard.frame_loss(mode, self.snr, frame_bytes) };
        let is_last = failures >= self.config.retries;
        let mut delivered = 0;
        for frame in self.frames.iter_mut().filter(|frame| frame.done_at.is_none()) {
            let has_failed = self.stream.chance(loss);
            delivered += u32::from(!has_failed);
            if !has_failed || is_last {
                *frame = Frame { done_at: Some(end), is_lost: has_failed };
            }
        }
        self.minstrel.note(rate, open, delivered);
        let free_at = end + SIFS + standard.answer(mode, is_aggregated);
        self.access.note_end(free_at, delivered == 0 && !is_last, &mut self.stream);
        free_at
    }

    fn pick_rate(&mut self, at: Time, failures: u32) -> usize {
        self.advance_signal(at);
        match self.config.rate_control {
            RateControl::Fixed => MODES - 1,
            RateControl::Ideal => self.config.best_rate(self.snr),
            RateControl::Minstrel => self.minstrel.pick(at, failures, self.config.standard.modes(), &mut self.stream),
        }
    }

    fn advance_signal(&mut self, at: Time) {
        if self.config.snr_sd > 0.0 {
            let kept = libm::exp(-(at - self.snr_at).ratio(self.config.coherence));
            let fresh = self.config.snr_sd * libm::sqrt(1.0 - kept * kept) * self.stream.normal();
            self.snr = self.config.snr + kept * (self.snr - self.config.snr) + fresh;
        }
        self.snr_at = at;
    }

    /// The receiver delivers packets in order: none before all those ahead of it have been received or given up.
    fn plan_departures(&mut self) {
        let mut departure = Time::ZERO;
        for frame in &self.frames {
            departure = departure.max(frame.done_at.expect("all are done"));
            self.plan.push_back(Planned { departure, is_lost: frame.is_lost });
        }
    }
}
