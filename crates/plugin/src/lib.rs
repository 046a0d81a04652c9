//! Congestion controls in shared libraries of one's own (`libmine.so:mine`).
//!
//! [`abi`] is the border: the file that a library's crate holds a copy of (`playpath new control`). Here is the side that loads
//! a library and makes a [`CongestionControl`] of what it exports. What keeps it safe:
//!
//! 1. Nothing is called before magic number, version and the hash over all records' layouts agree.
//! 2. Only C records of fixed size and texts that outlive the call cross; no allocation is freed on the other side.
//! 3. A panic ends in the library, as a message; it never unwinds across.
//! 4. What a control answers is checked: a window that is no number is the run's error.
//! 5. A library stays loaded until the process ends.
//!
//! Not kept off: a library that writes where it should not. It is the user's own code, in the user's own process.
//!
//! A library's control is told of ACKs, episodes, timeouts, undos and windows set from outside; not of single packets, the video,
//! or other subflows. Tested by `tests/python/test_plugin.py`, which builds one.

// The library's side says it once, at each function.
#[allow(clippy::undocumented_unsafe_blocks)]
pub mod abi;

use abi::{Entry, Kind, LAYOUT, MAGIC, Message, Param, SYMBOL, Table, Text, UNKNOWN, VERSION, Wants};
use playpath_cc::{
    Ack, CongestionControl, CongestionEvent, CongestionSignal, RecoveryExit, RecoveryWindow, Rto, Undo, View,
    WindowChange,
};
use playpath_units::{Duration, Rate};
use std::ffi::c_void;
use std::path::Path;
use std::sync::Arc;

/// Largest window that is believed.
const MAX_CWND: f64 = 1e6;

/// The crate that `playpath new control` writes: path and content of each file, with NAME and TYPE to be replaced.
pub const TEMPLATE: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("../template/Cargo.toml")),
    ("src/lib.rs", include_str!("../template/src/lib.rs")),
    ("src/playpath.rs", include_str!("abi.rs")),
];

/// Told once, when a control fails: the method and what went wrong.
pub type OnError = Arc<dyn Fn(&'static str, String) + Send + Sync>;

/// A library that is loaded, and speaks our version.
#[derive(Clone, Copy)]
pub struct Library {
    entries: &'static [Entry],
}

impl Library {
    /// Loads it. Error: one line, without the file's name.
    pub fn open(path: &Path) -> Result<Library, String> {
        // SAFETY: it runs the library's initialisers: the user asked for this code to be run.
        let library = unsafe { libloading::Library::new(path) }.map_err(|e| format!("cannot be loaded: {e}"))?;
        // SAFETY: of the symbol only the address is taken; what it points to is checked before it is read further.
        let symbol = unsafe { library.get::<*const Table>(SYMBOL.as_bytes()) };
        let address = *symbol.map_err(|_| format!("exports no {SYMBOL}; see `playpath new control`"))?;
        std::mem::forget(library);
        // SAFETY: the first fields of the table never move, and the library stays loaded.
        let (magic, version, layout) = unsafe { ((*address).magic, (*address).version, (*address).layout) };
        if magic != MAGIC {
            return Err(format!("its {SYMBOL} is something else; see `playpath new control`"));
        }
        if version != VERSION || layout != LAYOUT {
            let same = if version == VERSION { " with other records" } else { "" };
            return Err(format!(
                "speaks version {version} of the border{same}, this playpath version {VERSION}; copy src/playpath.rs anew \
                 (`playpath new control --update`) and build it again"
            ));
        }
        // SAFETY: version and layout agree, so the table is ours; its entries are a static of the library.
        let table = unsafe { &*address };
        // SAFETY: as above.
        Ok(Library { entries: unsafe { std::slice::from_raw_parts(table.entries, table.count as usize) } })
    }

    /// The names of its controls.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        // SAFETY: made by `Text::of` from a literal of the library.
        self.entries.iter().map(|entry| unsafe { entry.name.get() })
    }

    /// A maker of this control with these parameters. Error: no such control, or it cannot be made.
    pub fn control(self, name: &str, params: Vec<(String, String)>) -> Result<Maker, String> {
        let found = self.names().position(|known| known == name);
        let index = found.ok_or_else(|| playpath_units::names::unknown("control", name, self.names()))?;
        let maker = Maker { entry: &self.entries[index], params: params.into() };
        maker.make(10.0).map(|(raw, _)| drop(raw))?;
        Ok(maker)
    }
}

/// Makes controls.
#[derive(Clone)]
pub struct Maker {
    entry: &'static Entry,
    params: Arc<[(String, String)]>,
}

impl Maker {
    /// One connection's control.
    pub fn build(&self, initial_window: f64, on_error: OnError) -> Box<dyn CongestionControl> {
        match self.make(initial_window) {
            Ok((raw, wants)) => Box::new(Plugin { raw: Some(raw), wants, on_error }),
            Err(message) => {
                on_error("new", message);
                let wants = Wants::window(initial_window.max(1.0), f64::INFINITY);
                Box::new(Plugin { raw: None, wants, on_error })
            }
        }
    }

    fn make(&self, initial_window: f64) -> Result<(Raw, Wants), String> {
        let param = |(name, value): &(String, String)| Param { name: Text::of(name), value: Text::of(value) };
        let params: Vec<Param> = self.params.iter().map(param).collect();
        let (mut wants, mut message) = (Wants::window(initial_window, f64::INFINITY), Message::new());
        // SAFETY: the records are of the version that was checked, and live until the call returns.
        let object = unsafe {
            (self.entry.create)(params.as_ptr(), params.len(), initial_window, &raw mut wants, &raw mut message)
        };
        if object.is_null() {
            return Err(message.get());
        }
        let raw = Raw { entry: self.entry, object };
        checked(wants).map(|wants| (raw, wants))
    }
}

/// An object of the library.
struct Raw {
    entry: &'static Entry,
    object: *mut c_void,
}

// SAFETY: the library's `Control` is `Send`.
unsafe impl Send for Raw {}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: `create` made it, and nobody uses it any more.
        unsafe { (self.entry.destroy)(self.object) };
    }
}

/// A control of a library. After an error it keeps its windows and is not asked again.
struct Plugin {
    raw: Option<Raw>,
    wants: Wants,
    on_error: OnError,
}

impl Plugin {
    fn tell<T>(&mut self, view: &View, kind: Kind, event: &T) {
        let Some(raw) = &self.raw else { return };
        let view = view_of(view);
        let (mut wants, mut message) = (self.wants, Message::new());
        let event = (&raw const *event).cast();
        // SAFETY: `create` made the object; `event` is the record that `kind` says, and all live until the call returns.
        let status = unsafe {
            (raw.entry.handle)(raw.object, &raw const view, kind as u32, event, &raw mut wants, &raw mut message)
        };
        let answer = if status == 0 { checked(wants) } else { Err(message.get()) };
        match answer {
            Ok(wants) => self.wants = wants,
            Err(message) => {
                self.raw = None;
                (self.on_error)(method(kind), message);
            }
        }
    }
}

/// What a control may want. Error: it is none.
fn checked(mut wants: Wants) -> Result<Wants, String> {
    if !wants.cwnd.is_finite() || wants.ssthresh.is_nan() {
        return Err(format!("wants cwnd {}, ssthresh {}: must be numbers", wants.cwnd, wants.ssthresh));
    }
    if !wants.pacing_rate.is_finite() || wants.pacing_rate < 0.0 {
        return Err(format!("wants pacing_rate {}: must be finite and at least 0", wants.pacing_rate));
    }
    wants.cwnd = wants.cwnd.clamp(1.0, MAX_CWND);
    Ok(wants)
}

fn method(kind: Kind) -> &'static str {
    match kind {
        Kind::Start => "on_start",
        Kind::Ack => "on_ack",
        Kind::Congestion => "on_congestion",
        Kind::RecoveryExit => "on_recovery_exit",
        Kind::Timeout => "on_timeout",
        Kind::Undo => "on_undo",
        Kind::WindowChange => "on_window_change",
    }
}

fn view_of(view: &View) -> abi::View {
    abi::View {
        now_ns: view.now.as_nanos(),
        departs_at_ns: view.departs_at.as_nanos(),
        srtt_ns: view.srtt.as_nanos(),
        rttvar_ns: view.rttvar.as_nanos(),
        min_rtt_ns: if view.min_rtt == Duration::MAX { UNKNOWN } else { view.min_rtt.as_nanos() },
        delivered: view.delivered,
        lost: view.lost,
        sent: view.sent,
        in_flight: view.in_flight,
        flight_size: view.flight_size,
        mss: view.mss,
        in_recovery: view.in_recovery.into(),
    }
}

fn ack_of(ack: &Ack) -> abi::Ack {
    abi::Ack {
        rtt_ns: ack.rtt.map_or(UNKNOWN, Duration::as_nanos),
        delivery_rate: ack.rate.map_or(0, |sample| sample.delivery_rate.as_bits_per_sec()),
        rate_interval_ns: ack.rate.map_or(0, |sample| sample.interval.as_nanos()),
        prior_delivered: ack.rate.map_or(0, |sample| sample.prior_delivered),
        acked: ack.acked,
        delivered: ack.delivered,
        newly_lost: ack.newly_lost,
        prior_in_flight: ack.prior_in_flight,
        may_grow: ack.may_grow.into(),
        round_start: ack.round_start.into(),
        is_app_limited: ack.rate.is_some_and(|sample| sample.is_app_limited).into(),
        ecn_echo: ack.ecn_echo.into(),
    }
}

impl CongestionControl for Plugin {
    fn name(&self) -> &'static str {
        "plugin"
    }
    fn cwnd(&self) -> f64 {
        self.wants.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.wants.ssthresh
    }
    fn pacing_rate(&self) -> Option<Rate> {
        (self.wants.pacing_rate > 0.0).then(|| Rate::from_bits_per_sec_f64(self.wants.pacing_rate))
    }
    fn recovery_window(&self) -> RecoveryWindow {
        if self.wants.rules_recovery == 0 { RecoveryWindow::Transport } else { RecoveryWindow::Controller }
    }

    fn on_connection_start(&mut self, view: &View) {
        self.tell(view, Kind::Start, &abi::Plain { reserved: 0 });
    }

    fn on_ack(&mut self, view: &View, event: &Ack) {
        self.tell(view, Kind::Ack, &ack_of(event));
    }

    fn on_congestion(&mut self, view: &View, event: &CongestionEvent) {
        let event = abi::Congestion {
            lost_sent_at_ns: event.lost_sent_at.as_nanos(),
            flight_size: event.flight_size,
            newly_lost: event.newly_lost,
            is_ecn: (event.signal == CongestionSignal::Ecn).into(),
            was_retransmitted: event.lost_was_retransmitted.into(),
        };
        self.tell(view, Kind::Congestion, &event);
    }

    fn on_recovery_exit(&mut self, view: &View, _event: &RecoveryExit) {
        self.tell(view, Kind::RecoveryExit, &abi::Plain { reserved: 0 });
    }

    fn on_rto(&mut self, view: &View, event: &Rto) {
        let event = abi::Timeout { flight_size: event.flight_size, consecutive: event.consecutive };
        self.tell(view, Kind::Timeout, &event);
    }

    fn on_undo(&mut self, view: &View, event: &Undo) {
        self.tell(view, Kind::Undo, &abi::Undo { was_timeout: event.was_rto.into(), reserved: 0 });
    }

    fn on_window_change(&mut self, view: &View, change: &WindowChange) {
        let change = abi::WindowChange { cwnd: change.cwnd, ssthresh: change.ssthresh };
        self.tell(view, Kind::WindowChange, &change);
    }
}
