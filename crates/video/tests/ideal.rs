//! The idealised transport: worked downloads. The client has one representation of 1 Mbit/s: segments of 2 s, 250 000 B, 2 Mbit.

use playpath_units::{Duration, Rate, Time};
use playpath_video::abr;
use playpath_video::dash::{Connections, DashConfig};
use playpath_video::ideal::{IdealError, IdealLink, IdealStep, play};
use playpath_video::{
    Action, AppReport, ConnectionId, DashPlayer, Delivery, EventKind, Ladder, ObjectKind, PlaybackEvent, Player,
    Presentation, Request, RequestId,
};

fn step(seconds: f64, mbps: f64, latency: f64) -> IdealStep {
    IdealStep {
        duration: Duration::from_secs_f64(seconds),
        rate: Rate::from_bits_per_sec_f64(mbps * 1e6),
        latency: Duration::from_secs_f64(latency),
    }
}

/// When each segment was complete, s.
fn arrivals(config: DashConfig, link: &IdealLink) -> Vec<f64> {
    let rates = [Rate::from_bits_per_sec(1_000_000)];
    let video = Ladder::of_rates(ObjectKind::Video, &rates, Duration::from_secs(2), Duration::from_secs(6)).unwrap();
    let presentation = Presentation { video, audio: None, is_live: false };
    let mut player = DashPlayer::new(config, presentation, abr::build("fixed").unwrap(), None).unwrap();
    play(&mut player, link, Time::from_secs(1000));
    let complete = |event: &PlaybackEvent| matches!(event.kind, EventKind::SegmentDownloaded { .. });
    player.events().iter().filter(|event| complete(event)).map(|event| event.at.as_secs_f64()).collect()
}

fn near(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{got:?}");
    assert!(
        got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 5e-9),
        "{got:?}, expected {expected:?}"
    );
}

/// 2 Mbit at 4 Mbit/s take 0.5 s, after a latency of 0.1 s each: 0.6, 1.2, 1.8 s.
#[test]
fn latency_and_rate() {
    let link = IdealLink::constant(Rate::from_bits_per_sec(4_000_000), Duration::from_millis(100)).unwrap();
    near(&arrivals(DashConfig::default(), &link), &[0.6, 1.2, 1.8]);
}

/// 2 Mbit/s for 0.5 s: 1 Mbit; nothing until 3 s; 1 Mbit/s: the other in 1 s: 4 s. Then 2 Mbit at 1 Mbit/s: 6 s. The trace starts
/// over after 8 s: 2 Mbit from 6 s: 8 s.
#[test]
fn steps_and_an_outage() {
    let mut link = IdealLink::new(vec![step(0.5, 2.0, 0.0), step(2.5, 0.0, 0.0), step(5.0, 1.0, 0.0)]).unwrap();
    near(&arrivals(DashConfig::default(), &link), &[4.0, 6.0, 8.0]);
    // Starting over after 4 s instead: at 4 s 2 Mbit/s again: 1 Mbit by 4.5 s, then an outage until 7 s, the rest by 8 s.
    link = IdealLink::new(vec![step(0.5, 2.0, 0.0), step(2.5, 0.0, 0.0), step(1.0, 1.0, 0.0)]).unwrap();
    link.repeats = true;
    near(&arrivals(DashConfig::default(), &link), &[4.0, 8.0, 12.0]);
}

/// Two connections share 4 Mbit/s: both segments take 1 s. The third is alone: 0.5 s.
#[test]
fn parallel_connections_share() {
    let link = IdealLink::constant(Rate::from_bits_per_sec(4_000_000), Duration::ZERO).unwrap();
    let config = DashConfig { connections: Connections::in_parallel(2), ..DashConfig::default() };
    near(&arrivals(config, &link), &[1.0, 1.0, 1.5]);
}

/// Progress every 50 ms is no whole number of bytes at 0.999 999 Mbit/s; nothing is lost: 2 / 0.999 999 s per segment.
#[test]
fn fractions_of_bytes_are_carried() {
    let link = IdealLink::constant(Rate::from_bits_per_sec(999_999), Duration::ZERO).unwrap();
    let each = 2.0 / 0.999_999;
    near(&arrivals(DashConfig::default(), &link), &[each, 2.0 * each, 3.0 * each]);
}

#[test]
fn traces_that_mean_nothing_are_refused() {
    assert_eq!(IdealLink::new(vec![]).unwrap_err(), IdealError::Empty);
    assert_eq!(
        IdealLink::new(vec![step(1.0, 1.0, 0.0), step(0.0, 1.0, 0.0)]).unwrap_err(),
        IdealError::NoDuration { step: 1 }
    );
    assert_eq!(
        IdealLink::new(vec![step(1.0, 0.0, 0.0)]).unwrap_err().to_string(),
        "the trace has rate zero throughout"
    );
}

/// One request; reads `most` bytes per second (`u64::MAX`: all), and notes when how much came.
struct Reader {
    delivery: Delivery,
    most: u64,
    read: u64,
    arrivals: Vec<(Time, u64)>,
    actions: Vec<Action>,
    wake: Time,
}

const BODY: u64 = 100_000;

impl Reader {
    fn new(delivery: Delivery, most: u64) -> Reader {
        Reader { delivery, most, read: 0, arrivals: Vec::new(), actions: Vec::new(), wake: Time::MAX }
    }
}

impl Player for Reader {
    fn handle_start(&mut self, now: Time) {
        self.actions.push(Action::Open(ConnectionId(0)));
        self.wake = if self.most == u64::MAX { Time::MAX } else { now + Duration::from_secs(1) };
    }
    fn handle_connected(&mut self, _now: Time, connection: ConnectionId) {
        self.actions.push(Action::Request(Request {
            delivery: self.delivery,
            ..Request::of_file(connection, RequestId(0), BODY)
        }));
    }
    fn handle_body(&mut self, now: Time, _request: RequestId, bytes: u64) -> bool {
        self.read += bytes;
        self.arrivals.push((now, bytes));
        true
    }
    fn handle_timeout(&mut self, now: Time) {
        self.wake = now + Duration::from_secs(1);
    }
    fn handle_stop(&mut self, _now: Time) {}
    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop()
    }
    fn poll_timeout(&self) -> Time {
        self.wake
    }
    fn read_limit(&self, now: Time, _connection: ConnectionId) -> u64 {
        let seconds = now.as_nanos() / 1_000_000_000 + 1;
        self.most.saturating_mul(seconds).saturating_sub(self.read)
    }
    fn buffer_level(&self, _now: Time) -> Duration {
        Duration::ZERO
    }
    fn buffer_bytes(&self, _now: Time) -> u64 {
        self.read
    }
    fn is_finished(&self) -> bool {
        self.read == BODY
    }
    fn events(&self) -> &[PlaybackEvent] {
        &[]
    }
    fn app_parameters(&self, _now: Time) -> AppReport {
        AppReport {
            playout_buffer_bytes: 0,
            playout_buffer_free_bytes: 0,
            video_rate: Rate::default(),
            is_urgent: false,
            whole: None,
        }
    }
}

/// 8 Mbit/s carry 1 kB per ms. The server writes 30 kB every 100 ms: 30 kB by 30 ms, 60 by 130, 90 by 230, 100 kB by 310 ms.
#[test]
fn a_server_that_writes_in_chunks() {
    let delivery = Delivery::Chunks { bytes: 30_000, every: Duration::from_millis(100) };
    let mut reader = Reader::new(delivery, u64::MAX);
    let end =
        play(&mut reader, &IdealLink::constant(Rate::from_bits_per_sec(8_000_000), Duration::ZERO).unwrap(), Time::MAX);
    assert_eq!(end, (Time::from_millis(310), 100_000));
    let by = |ms: u64| {
        reader.arrivals.iter().filter(|(at, _)| *at <= Time::from_millis(ms)).map(|(_, bytes)| bytes).sum::<u64>()
    };
    assert_eq!([30, 99, 130, 230].map(by), [30_000, 30_000, 60_000, 90_000]);
}

/// The client reads 40 kB per second, at once: 40 kB by 40 ms, 40 from 1 s on, the last 20 kB from 2 s on: 2.02 s.
#[test]
fn a_client_that_reads_slowly_holds_the_server_back() {
    let mut reader = Reader::new(Delivery::AsFastAsPossible, 40_000);
    let end =
        play(&mut reader, &IdealLink::constant(Rate::from_bits_per_sec(8_000_000), Duration::ZERO).unwrap(), Time::MAX);
    assert_eq!(end.0, Time::from_millis(2020));
}

/// 80 Mbit/s after a latency of 100 ms: the first byte (0.1 us) arrives at 100.0001 ms, not at the end of a cut of 50 ms; the body of
/// 100 kB is whole 10 ms after the latency. A body of no more than a byte comes whole.
#[test]
fn the_first_byte_is_on_time() {
    let link = IdealLink::constant(Rate::from_bits_per_sec(80_000_000), Duration::from_millis(100)).unwrap();
    let mut reader = Reader::new(Delivery::AsFastAsPossible, u64::MAX);
    assert_eq!(play(&mut reader, &link, Time::MAX).0, Time::from_millis(110));
    assert_eq!(reader.arrivals[0], (Time::from_nanos(100_000_100), 1));
}

/// A trace that ends in an outage, and nobody who waits for anything: the session is cut where nothing can happen any more. What came
/// of the response counts as read.
#[test]
fn an_outage_without_end_stops() {
    let link = IdealLink::new(vec![step(0.01, 8.0, 0.0), step(1.0, 0.0, 0.0)]).unwrap();
    let mut reader = Reader::new(Delivery::AsFastAsPossible, u64::MAX);
    assert_eq!(play(&mut reader, &link, Time::from_secs(50)), (Time::from_secs(50), 10_000));
}
