//! What playpath and a congestion control in a library of its own say to each other.
//!
//! This file is part of playpath, and copied unchanged into the library's crate: `playpath new control NAME`. Everything that
//! crosses the border is a C record of fixed size. The library exports one table with the version and a hash over the layout
//! of all records; playpath compares both before it calls anything, so that two different copies of this file never meet.
//!
//! Units: times and durations in nanoseconds since the start of the run, windows in packets (segments of `mss` bytes), rates
//! in bits a second.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::mem::{align_of, offset_of, size_of};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Of this file. A record that changes raises it.
pub const VERSION: u32 = 1;
/// Begins the table, so that a library of something else is known.
pub const MAGIC: u64 = u64::from_be_bytes(*b"playpath");
/// Name of the exported table.
pub const SYMBOL: &str = "PLAYPATH_CONTROLS";
/// A time or duration that is not known.
pub const UNKNOWN: u64 = u64::MAX;

/// State of the connection at an event.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Time of the event.
    pub now_ns: u64,
    /// The next packet leaves then at the earliest.
    pub departs_at_ns: u64,
    /// Smoothed RTT; 0 before the first sample.
    pub srtt_ns: u64,
    /// RTT variation.
    pub rttvar_ns: u64,
    /// Smallest RTT; `UNKNOWN` before the first sample.
    pub min_rtt_ns: u64,
    /// Packets delivered, marked lost, sent since the start.
    pub delivered: u64,
    /// See `delivered`.
    pub lost: u64,
    /// See `delivered`; retransmissions included.
    pub sent: u64,
    /// Packets in the network by the transport's estimate (RFC 6675 pipe), after the event.
    pub in_flight: u32,
    /// Packets sent and not cumulatively acknowledged.
    pub flight_size: u32,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// 1 while a loss recovery is under way.
    pub in_recovery: u32,
}

/// An acknowledgement that delivered data.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// RTT sample; `UNKNOWN` without one.
    pub rtt_ns: u64,
    /// Delivery rate sample in bits a second; 0 without one.
    pub delivery_rate: u64,
    /// Over which it was taken.
    pub rate_interval_ns: u64,
    /// `View::delivered` when the sampled packet was sent.
    pub prior_delivered: u64,
    /// Packets newly acknowledged cumulatively.
    pub acked: u32,
    /// Packets newly delivered, by SACK too.
    pub delivered: u32,
    /// Packets newly marked lost.
    pub newly_lost: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// 1: the window was used fully and no recovery forbids growth. Growing without it is guessing.
    pub may_grow: u32,
    /// 1: first ACK of a round trip.
    pub round_start: u32,
    /// 1: the sampled packet left while the application had nothing more to send.
    pub is_app_limited: u32,
    /// 1: it carried ECN-Echo.
    pub ecn_echo: u32,
}

/// A loss episode begins, or ECN-Echo came: once per episode.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When the first lost segment was sent last.
    pub lost_sent_at_ns: u64,
    /// FlightSize before the episode.
    pub flight_size: u32,
    /// Packets marked lost at its beginning.
    pub newly_lost: u32,
    /// 1: ECN-Echo told of it, no loss.
    pub is_ecn: u32,
    /// 1: the first lost segment had been retransmitted before.
    pub was_retransmitted: u32,
}

/// The retransmission timer expired.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Timeout {
    /// FlightSize at expiry.
    pub flight_size: u32,
    /// Expiries without progress; 1 is the first.
    pub consecutive: u32,
}

/// The last episode proved spurious.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Undo {
    /// 1: it was a timeout.
    pub was_timeout: u32,
    /// Not used.
    pub reserved: u32,
}

/// The window was set from outside: window validation after idle periods (RFC 2861, RFC 7661), a scheduler.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WindowChange {
    /// The new window.
    pub cwnd: f64,
    /// The new threshold; infinite for none.
    pub ssthresh: f64,
}

/// The connection begins, or a recovery ends: nothing more to say.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    /// Not used.
    pub reserved: u64,
}

/// What a control wants; read after every event.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Wants {
    /// Window; at least 1.
    pub cwnd: f64,
    /// Slow start threshold; infinite until the first congestion.
    pub ssthresh: f64,
    /// Rate at which packets leave, in bits a second; 0: as the scenario says.
    pub pacing_rate: f64,
    /// 1: `cwnd` holds during loss recovery, too (BBR); 0: the transport leads to `ssthresh` (RFC 6675, PRR).
    pub rules_recovery: u32,
    /// Not used.
    pub reserved: u32,
}

/// Which record an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// `Plain`: the handshake is complete.
    Start = 0,
    /// `Ack`
    Ack = 1,
    /// `Congestion`
    Congestion = 2,
    /// `Plain`: the recovery point was acknowledged.
    RecoveryExit = 3,
    /// `Timeout`
    Timeout = 4,
    /// `Undo`
    Undo = 5,
    /// `WindowChange`
    WindowChange = 6,
}

/// A text that lives as long as the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    /// UTF-8.
    pub bytes: *const u8,
    /// Bytes.
    pub len: usize,
}

/// A parameter as it was typed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Param {
    /// `gain`
    pub name: Text,
    /// `2.5`
    pub value: Text,
}

/// Where a library writes what went wrong.
#[repr(C)]
pub struct Message {
    /// UTF-8.
    pub bytes: [u8; 504],
    /// Bytes.
    pub len: u64,
}

/// One control of a library.
#[repr(C)]
pub struct Entry {
    /// Its name.
    pub name: Text,
    /// A new one: null, and a message, if it cannot be made.
    pub create: unsafe extern "C" fn(*const Param, usize, f64, *mut Wants, *mut Message) -> *mut c_void,
    /// Tells it of an event: 0, or 1 and a message if it failed.
    pub handle: unsafe extern "C" fn(*mut c_void, *const View, u32, *const c_void, *mut Wants, *mut Message) -> u32,
    /// Frees it.
    pub destroy: unsafe extern "C" fn(*mut c_void),
}

/// What a library exports. The first three fields never move.
#[repr(C)]
pub struct Table {
    /// `MAGIC`
    pub magic: u64,
    /// `VERSION` of the library's copy of this file.
    pub version: u32,
    /// Controls.
    pub count: u32,
    /// `LAYOUT` of the library's copy.
    pub layout: u64,
    /// So many as `count`.
    pub entries: *const Entry,
}

// Nothing in it changes.
unsafe impl Sync for Table {}
unsafe impl Sync for Entry {}

/// Hash over size, alignment and the place of the last field of every record.
pub const LAYOUT: u64 = {
    let numbers = [
        size_of::<View>(),
        align_of::<View>(),
        offset_of!(View, in_recovery),
        size_of::<Ack>(),
        align_of::<Ack>(),
        offset_of!(Ack, ecn_echo),
        size_of::<Congestion>(),
        align_of::<Congestion>(),
        offset_of!(Congestion, was_retransmitted),
        size_of::<Timeout>(),
        offset_of!(Timeout, consecutive),
        size_of::<Undo>(),
        size_of::<WindowChange>(),
        offset_of!(WindowChange, ssthresh),
        size_of::<Plain>(),
        size_of::<Wants>(),
        align_of::<Wants>(),
        offset_of!(Wants, rules_recovery),
        size_of::<Text>(),
        size_of::<Param>(),
        size_of::<Message>(),
        offset_of!(Message, len),
        size_of::<Entry>(),
        offset_of!(Entry, destroy),
        size_of::<Table>(),
        offset_of!(Table, entries),
    ];
    // FNV-1a
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < numbers.len() {
        hash = (hash ^ numbers[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    hash
};

impl Text {
    /// Of a text that outlives the call.
    pub const fn of(text: &str) -> Text {
        Text { bytes: text.as_ptr(), len: text.len() }
    }

    /// # Safety
    /// Both sides make it with `of`.
    pub unsafe fn get<'a>(self) -> &'a str {
        unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(self.bytes, self.len)) }
    }
}

impl Message {
    /// An empty one.
    pub const fn new() -> Message {
        Message { bytes: [0; 504], len: 0 }
    }

    /// What fits of the text.
    pub fn set(&mut self, text: &str) {
        let mut end = text.len().min(self.bytes.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.bytes[..end].copy_from_slice(&text.as_bytes()[..end]);
        self.len = end as u64;
    }

    /// The text, on one line.
    pub fn get(&self) -> String {
        let len = (self.len as usize).min(self.bytes.len());
        String::from_utf8_lossy(&self.bytes[..len]).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl Default for Message {
    fn default() -> Message {
        Message::new()
    }
}

impl Wants {
    /// A window, and nothing else.
    pub fn window(cwnd: f64, ssthresh: f64) -> Wants {
        Wants { cwnd, ssthresh, pacing_rate: 0.0, rules_recovery: 0, reserved: 0 }
    }
}

/// A congestion control. Everything but ACKs, congestion and timeouts may be ignored. What depends on a clock, on chance or on
/// another run makes results that do not repeat.
pub trait Control: Send + Sized {
    /// A new one for a connection. Error: one line.
    fn new(params: &Params, initial_window: f64) -> Result<Self, String>;
    /// Asked after every event.
    fn wants(&self) -> Wants;
    /// The handshake is complete.
    fn on_start(&mut self, _view: &View) {}
    /// Data was delivered.
    fn on_ack(&mut self, view: &View, ack: &Ack);
    /// A loss episode begins: set what holds at its end.
    fn on_congestion(&mut self, view: &View, congestion: &Congestion);
    /// A recovery is over.
    fn on_recovery_exit(&mut self, _view: &View) {}
    /// The retransmission timer expired.
    fn on_timeout(&mut self, view: &View, timeout: &Timeout);
    /// The last episode proved spurious: restore what it took.
    fn on_undo(&mut self, _view: &View, _undo: &Undo) {}
    /// Window and threshold are these now.
    fn on_window_change(&mut self, view: &View, change: &WindowChange);
}

/// The parameters that a scenario gives a control: `{ name = "libmine.so:mine", gain = 2 }`.
pub struct Params {
    given: Vec<(String, String)>,
    asked: RefCell<Vec<&'static str>>,
}

impl Params {
    /// From pairs of name and value.
    pub fn new(given: Vec<(String, String)>) -> Params {
        Params { given, asked: RefCell::default() }
    }

    /// A number, or the default. Error: it is none.
    pub fn number(&self, name: &'static str, default: f64) -> Result<f64, String> {
        let text = self.text(name, "");
        if text.is_empty() {
            return Ok(default);
        }
        text.parse().map_err(|_| format!("{name} = {text}: must be a number"))
    }

    /// A text, or the default.
    pub fn text<'a>(&'a self, name: &'static str, default: &'a str) -> &'a str {
        self.asked.borrow_mut().push(name);
        self.given.iter().find(|(given, _)| given == name).map_or(default, |(_, value)| value)
    }

    /// Error: one was given that nobody asked for.
    pub fn finish(&self) -> Result<(), String> {
        let asked = self.asked.borrow();
        match self.given.iter().find(|(given, _)| !asked.contains(&given.as_str())) {
            Some((name, _)) => Err(format!("unknown parameter \"{name}\"; allowed: {}", asked.join(", "))),
            None => Ok(()),
        }
    }
}

thread_local! {
    static PANICKED_AT: Cell<Option<(String, u32)>> = const { Cell::new(None) };
}

/// Runs a piece of the control; a panic becomes its message with the line.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        let place = PANICKED_AT.take().map_or(String::new(), |(file, line)| format!("{file}:{line}: "));
        Err(format!("{place}panicked: {text}"))
    })
}

/// See `Entry::create`.
///
/// # Safety
/// Called by playpath alone, with pointers to records of this file.
pub unsafe extern "C" fn create<C: Control>(
    params: *const Param,
    count: usize,
    initial_window: f64,
    wants: *mut Wants,
    message: *mut Message,
) -> *mut c_void {
    let made = guarded(|| {
        // A library has a panic hook of its own: playpath's and other libraries' stay as they are.
        std::panic::set_hook(Box::new(|info| {
            PANICKED_AT.set(info.location().map(|place| (place.file().to_string(), place.line())));
        }));
        let given: &[Param] = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(params, count) } };
        let pair = |param: &Param| unsafe { (param.name.get().to_string(), param.value.get().to_string()) };
        let params = Params::new(given.iter().map(pair).collect());
        let control = C::new(&params, initial_window)?;
        params.finish()?;
        unsafe { *wants = control.wants() };
        Ok(Box::into_raw(Box::new(control)).cast())
    });
    made.unwrap_or_else(|text: String| {
        unsafe { (*message).set(&text) };
        std::ptr::null_mut()
    })
}

/// See `Entry::handle`.
///
/// # Safety
/// Called by playpath alone, with pointers to records of this file, and an object that `create` made.
pub unsafe extern "C" fn handle<C: Control>(
    control: *mut c_void,
    view: *const View,
    kind: u32,
    event: *const c_void,
    wants: *mut Wants,
    message: *mut Message,
) -> u32 {
    let done = guarded(|| {
        let (control, view) = unsafe { (&mut *control.cast::<C>(), &*view) };
        unsafe {
            match kind {
                k if k == Kind::Start as u32 => control.on_start(view),
                k if k == Kind::Ack as u32 => control.on_ack(view, &*event.cast()),
                k if k == Kind::Congestion as u32 => control.on_congestion(view, &*event.cast()),
                k if k == Kind::RecoveryExit as u32 => control.on_recovery_exit(view),
                k if k == Kind::Timeout as u32 => control.on_timeout(view, &*event.cast()),
                k if k == Kind::Undo as u32 => control.on_undo(view, &*event.cast()),
                k if k == Kind::WindowChange as u32 => control.on_window_change(view, &*event.cast()),
                other => return Err(format!("event {other} is not known")),
            }
            *wants = control.wants();
        }
        Ok(())
    });
    done.map_or_else(
        |text: String| {
            unsafe { (*message).set(&text) };
            1
        },
        |()| 0,
    )
}

/// See `Entry::destroy`.
///
/// # Safety
/// Called by playpath alone, with pointers to records of this file, and an object that `create` made.
pub unsafe extern "C" fn destroy<C: Control>(control: *mut c_void) {
    let _ = guarded(|| {
        drop(unsafe { Box::from_raw(control.cast::<C>()) });
        Ok(())
    });
}

/// Exports the controls of a library: `controls! { "mine" => Mine, "other" => Other }`.
#[macro_export]
macro_rules! controls {
    ($($name:literal => $control:ty),+ $(,)?) => {
        static PLAYPATH_ENTRIES: &[$crate::playpath::Entry] = &[$($crate::playpath::Entry {
            name: $crate::playpath::Text::of($name),
            create: $crate::playpath::create::<$control>,
            handle: $crate::playpath::handle::<$control>,
            destroy: $crate::playpath::destroy::<$control>,
        }),+];
        /// What playpath looks for.
        #[no_mangle]
        pub static PLAYPATH_CONTROLS: $crate::playpath::Table = $crate::playpath::Table {
            magic: $crate::playpath::MAGIC,
            version: $crate::playpath::VERSION,
            count: PLAYPATH_ENTRIES.len() as u32,
            layout: $crate::playpath::LAYOUT,
            entries: PLAYPATH_ENTRIES.as_ptr(),
        };
    };
}
