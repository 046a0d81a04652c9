//! CCP's path estimates: capacity C, RTT extremes, storage B and backlog x. See `ccp.rs` for the definitions.

use crate::parts::estimators::{CapProbe, Capacity, MaxRate, WindowedMax, WindowedMin};
use crate::{Ack, Params, View};
use playpath_units::{Duration, Time};

pub(super) struct PathSettings {
    kp: f64,
    capacity: Capacity,
    /// Part of the storage that is the pipe and does not count, in bandwidth-delay products.
    uncounted: f64,
    uses_raw_rtt: bool,
    min_window: Duration,
    max_window: Duration,
    /// Floor of the storage in bandwidth-delay products.
    floor: f64,
    /// rtt_max counts up to this many rtt_min.
    cap: f64,
}

impl PathSettings {
    pub(super) fn from_params(params: &Params, is_paper: bool) -> PathSettings {
        let kp = params.number("kp");
        let seconds = |name| Duration::from_secs_f64(params.number(name));
        PathSettings {
            kp,
            capacity: match (params.word("estimator"), is_paper) {
                ("given", _) => Capacity::Given(params.number("capacity")),
                ("capprobe", _) | ("auto", true) => Capacity::CapProbe(CapProbe::new(), MaxRate::new()),
                _ => Capacity::MaxRate(MaxRate::new()),
            },
            uncounted: if params.word("storage") == "queue" { 1.0 } else { 0.0 },
            uses_raw_rtt: params.word("rtt") == "raw",
            min_window: seconds("rtt_min_window"),
            max_window: seconds(if is_paper { "rtt_min_window" } else { "rtt_max_window" }),
            floor: if is_paper { 0.0 } else { params.number("floor_gain") * 3.0 / kp },
            cap: if is_paper { f64::INFINITY } else { params.number("rtt_max_cap") },
        }
    }
}

pub(super) struct Path {
    settings: PathSettings,
    rtt_min: WindowedMin<Duration>,
    rtt_max: WindowedMax<Duration>,
    smoothed: Duration,
    latest: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PathState {
    pub now: Time,
    pub kp: f64,
    /// B in packets.
    pub storage: f64,
    /// x in packets.
    pub backlog: f64,
    /// x from the smoothed RTT whatever `rtt` says.
    pub smoothed_backlog: f64,
    /// Pipe after the ACK.
    pub in_flight: f64,
    pub rtt: Duration,
    pub rtt_min: Duration,
    /// Payload bytes of a packet.
    pub mss: u32,
}

impl PathState {
    /// Equation 4.
    pub(crate) fn law(&self) -> f64 {
        (self.kp * (self.storage - self.backlog) - self.in_flight) / 2.0
    }
}

impl Path {
    pub(super) fn new(settings: PathSettings) -> Path {
        Path {
            settings,
            rtt_min: WindowedMin::new(),
            rtt_max: WindowedMax::new(),
            smoothed: Duration::ZERO,
            latest: Duration::ZERO,
        }
    }

    /// Take an ACK. A sample from retransmitted data is either unambiguous or missing (Karn, by the transport).
    pub(super) fn on_ack(&mut self, view: &View, ack: &Ack, in_backoff: bool) {
        let PathSettings { capacity, min_window, max_window, .. } = &mut self.settings;
        capacity.on_ack(view, ack, *max_window);
        let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero() && !in_backoff) else { return };
        self.latest = rtt;
        self.smoothed = if self.smoothed.is_zero() { rtt } else { (self.smoothed * 7 + rtt) / 8 };
        let now = view.now.as_nanos();
        self.rtt_min.update(now, rtt, min_window.as_nanos());
        self.rtt_max.update(now, rtt, max_window.as_nanos());
    }

    /// The path now, its storage scaled by `storage_factor`; none before the first samples.
    pub(super) fn state(&self, view: &View, storage_factor: f64) -> Option<PathState> {
        let capacity = self.settings.capacity.get()?;
        let (rtt_min, rtt_max) = (self.rtt_min.get()?, self.rtt_max.get()?);
        let pipe = capacity * rtt_min.as_secs_f64();
        let ratio = rtt_max.ratio(rtt_min).min(self.settings.cap).max(self.settings.floor) - self.settings.uncounted;
        let backlog = |rtt: Duration| capacity * rtt.saturating_sub(rtt_min).as_secs_f64();
        Some(PathState {
            now: view.now,
            kp: self.settings.kp,
            storage: pipe * ratio * storage_factor,
            backlog: backlog(if self.settings.uses_raw_rtt { self.latest } else { self.smoothed }),
            smoothed_backlog: backlog(self.smoothed),
            in_flight: f64::from(view.in_flight),
            rtt: self.smoothed,
            rtt_min,
            mss: view.mss,
        })
    }
}
