//! What holds for every DASH session, whatever the link, the rule and the settings.

use playpath_units::random::RootSeed;
use playpath_units::{Duration, Rate, Time};
use playpath_video::abr;
use playpath_video::dash::{CatchUp, CmcdMode, Connections, DashConfig, Live, LiveDelivery, LowLatency, Range};
use playpath_video::ideal::{IdealLink, IdealStep, play};
use playpath_video::{
    Action, ConnectionId, DashPlayer, EventKind, FinishReason, Ladder, ObjectKind, ObjectRef, PlaybackEvent, Player,
    Presentation, RequestId, SizeModel,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A session drawn at random.
#[derive(Debug, Clone)]
struct Case {
    seed: u64,
    rule: usize,
    full: u64,
    resume_share: f64,
    start_share: f64,
    stall_share: f64,
    connections: Connections,
    pipeline_at: Option<f64>,
    with_audio: bool,
    with_manifest: bool,
    live: Option<Live>,
    cut_at: Option<u64>,
}

const WIDE: Range = Range { min_ppm: 500_000, max_ppm: 1_500_000 };
const LAWS: [CatchUp; 5] =
    [CatchUp::Off, CatchUp::DashJs(WIDE), CatchUp::LolPlus(WIDE), CatchUp::HlsJs(WIDE), CatchUp::Shaka(WIDE)];

fn any_low_latency() -> impl Strategy<Value = LowLatency> {
    (any::<bool>(), 100u64..2000).prop_map(|(in_chunks, piece)| LowLatency {
        delivery: if in_chunks { LiveDelivery::Chunks } else { LiveDelivery::Parts },
        piece: Duration::from_millis(piece),
        playlist_bytes: 1500,
    })
}

fn any_case() -> impl Strategy<Value = Case> {
    let connections = (1u8..=4, proptest::option::of(1u32..5), proptest::option::of(1u64..10)).prop_map(
        |(parallel, requests_each, idle)| Connections {
            parallel,
            requests_each,
            idle_timeout: idle.map(Duration::from_secs),
        },
    );
    let live = proptest::option::weighted(
        0.3,
        (2u64..12, proptest::option::of(1u64..6), proptest::option::of(any_low_latency()), 0..5usize, 0u64..4)
            .prop_map(|(target, skip, low_latency, law, join)| Live {
                skip_behind: skip.map(Duration::from_secs),
                low_latency,
                joined_at: (join < 3).then(|| Duration::from_millis(700 * join)),
                catch_up: LAWS[law],
                ..Live::at(Duration::from_secs(target))
            }),
    );
    (
        (any::<u64>(), 0..abr::entries().len(), 4u64..40, 0.1f64..=1.0, 0.01f64..=1.0, 0.01f64..=1.0),
        (connections, proptest::option::of(0.1f64..0.99), any::<bool>(), any::<bool>(), live),
        proptest::option::weighted(0.2, 1u64..60),
    )
        .prop_map(
            |((seed, rule, full, resume, start, stall), (connections, pipeline_at, audio, manifest, live), cut)| Case {
                seed,
                rule,
                full,
                resume_share: resume,
                start_share: start,
                stall_share: stall,
                connections,
                pipeline_at,
                with_audio: audio,
                with_manifest: manifest,
                live,
                cut_at: cut,
            },
        )
}

impl Case {
    fn low_latency(&self) -> Option<LowLatency> {
        self.live?.low_latency
    }

    fn joined_at(&self) -> Duration {
        self.live.and_then(|live| live.joined_at).unwrap_or_default()
    }
}

const SEGMENT: Duration = Duration::from_secs(2);
const MEDIA: Duration = Duration::from_secs(61);

fn presentation(case: &Case) -> Presentation {
    let mut stream = RootSeed(case.seed).stream("sizes");
    let ladder = |kind, kbps: &[u64]| {
        let rates: Vec<_> = kbps.iter().map(|r| Rate::from_bits_per_sec(r * 1000)).collect();
        Ladder::of_rates(kind, &rates, SEGMENT, MEDIA).unwrap()
    };
    let video = ladder(ObjectKind::Video, &[300, 750, 1200, 1850])
        .with_drawn_sizes(SizeModel { cv: 0.4, shared: 0.8 }, &mut stream);
    let audio = case.with_audio.then(|| ladder(ObjectKind::Audio, &[64, 128]));
    Presentation { video, audio, is_live: case.live.is_some() }
}

fn player(case: &Case) -> DashPlayer {
    let full = Duration::from_secs(case.full);
    let mut config = DashConfig {
        full_level: full,
        resume_level: full.mul_f64(case.resume_share),
        start_level: full.mul_f64(case.start_share),
        stall_resume_level: full.mul_f64(case.stall_share),
        connections: case.connections,
        pipeline_at: case.pipeline_at,
        cmcd: CmcdMode::V2,
        live: case.live,
        ..DashConfig::default()
    };
    if let Some(live) = &mut config.live {
        // A live player cannot buffer more than exists.
        let most = live.latency_target.max(SEGMENT);
        config.start_level = config.start_level.min(most);
        config.stall_resume_level = config.stall_resume_level.min(SEGMENT);
    }
    if case.low_latency().is_some() {
        (config.connections.parallel, config.pipeline_at) = (1, None);
    }
    config.http.manifest_bytes = if case.with_manifest { 5000 } else { 0 };
    let rule = abr::build(abr::entries()[case.rule].name).unwrap();
    DashPlayer::new(config, presentation(case), rule, abr::build("throughput")).unwrap()
}

fn link(case: &Case) -> IdealLink {
    let mut stream = RootSeed(case.seed).stream("link");
    let steps = (0..20)
        .map(|_| IdealStep {
            duration: Duration::from_secs_f64(stream.uniform_in(0.2, 8.0)),
            rate: Rate::from_bits_per_sec_f64(if stream.chance(0.1) { 0.0 } else { stream.exponential(1.5e6) }),
            latency: Duration::from_secs_f64(stream.uniform_in(0.0, 0.3)),
        })
        .chain([IdealStep {
            duration: Duration::from_secs(5),
            rate: Rate::from_bits_per_sec(1_000_000),
            latency: Duration::ZERO,
        }])
        .collect();
    let mut link = IdealLink::new(steps).unwrap();
    link.repeats = true;
    link
}

/// Passes everything on, and looks at the buffer whenever something happens.
struct Watched {
    inner: DashPlayer,
    most: Duration,
}

impl Watched {
    fn look(&mut self, now: Time) {
        let level = self.inner.buffer_level(now);
        assert!(level <= self.most, "buffer level {level} above {}", self.most);
    }
}

impl Player for Watched {
    fn handle_start(&mut self, now: Time) {
        self.inner.handle_start(now);
    }
    fn handle_connected(&mut self, now: Time, connection: ConnectionId) {
        self.inner.handle_connected(now, connection);
    }
    fn handle_body(&mut self, now: Time, request: RequestId, bytes: u64) -> bool {
        let (timeout, has_news) = (self.inner.poll_timeout(), self.inner.handle_body(now, request, bytes));
        assert!(
            has_news || self.inner.poll_timeout() == timeout,
            "it wants to be called at another time, and does not say so"
        );
        self.look(now);
        has_news
    }
    fn handle_timeout(&mut self, now: Time) {
        self.inner.handle_timeout(now);
        self.look(now);
        assert!(self.inner.poll_timeout() > now, "the wake-up at {now} is not over");
    }
    fn handle_stop(&mut self, now: Time) {
        self.inner.handle_stop(now);
    }
    fn poll_action(&mut self) -> Option<Action> {
        self.inner.poll_action()
    }
    fn poll_timeout(&self) -> Time {
        self.inner.poll_timeout()
    }
    fn read_limit(&self, now: Time, connection: ConnectionId) -> u64 {
        self.inner.read_limit(now, connection)
    }
    fn buffer_level(&self, now: Time) -> Duration {
        self.inner.buffer_level(now)
    }
    fn buffer_bytes(&self, now: Time) -> u64 {
        self.inner.buffer_bytes(now)
    }
    fn is_finished(&self) -> bool {
        self.inner.is_finished()
    }
    fn events(&self) -> &[PlaybackEvent] {
        self.inner.events()
    }
    fn app_parameters(&self, now: Time) -> playpath_video::AppReport {
        self.inner.app_parameters(now)
    }
}

fn session(case: &Case) -> Vec<PlaybackEvent> {
    let mut watched = Watched { inner: player(case), most: Duration::from_secs(case.full) + SEGMENT };
    let until = Time::from_secs(case.cut_at.unwrap_or(100_000));
    play(&mut watched, &link(case), until);
    watched.events().to_vec()
}

/// Sum of the stalls, from the log.
fn stalled(events: &[PlaybackEvent]) -> Duration {
    events.iter().fold(Duration::ZERO, |sum, event| match event.kind {
        EventKind::StallEnd { frozen } => sum + frozen,
        _ => sum,
    })
}

fn abandoned(events: &[PlaybackEvent]) -> Vec<RequestId> {
    let of = |event: &PlaybackEvent| match event.kind {
        EventKind::RequestAbandoned { request } => Some(request),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn time_adds_up_and_everything_is_asked_for_once(case in any_case()) {
        let events = session(&case);
        let Some(PlaybackEvent { at, kind: EventKind::Finished { reason, totals } }) = events.last() else {
            return Err(TestCaseError::fail("no Finished entry"));
        };
        // Start-up + played + discarded + stopped - gained = elapsed, to the nanosecond.
        let sum = totals.startup + totals.media_played + totals.media_discarded + totals.clock_stopped;
        prop_assert_eq!(sum.as_nanos() as i64 - totals.gained_ns, (*at - Time::ZERO).as_nanos() as i64);
        prop_assert!(totals.gained_ns == 0 || case.live.is_some_and(|live| live.catch_up != CatchUp::Off));
        prop_assert_eq!(totals.clock_stopped + totals.media_discarded, stalled(&events));
        if *reason == FinishReason::Played {
            prop_assert_eq!(totals.media_played + totals.media_discarded, MEDIA - case.joined_at());
            prop_assert!(case.cut_at.is_none() || *at <= Time::from_secs(case.cut_at.unwrap()));
        }
        prop_assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at));
        // Each segment once, and once more per abandoned download of it.
        let given_up = abandoned(&events);
        let mut asked: BTreeMap<ObjectRef, i64> = BTreeMap::new();
        let mut names = BTreeMap::new();
        for event in &events {
            if let EventKind::RequestSent { request, object, .. } = event.kind {
                names.insert(request, object);
                let key = ObjectRef { representation: 0, ..object };
                *asked.entry(key).or_default() += if given_up.contains(&request) { 0 } else { 1 };
            }
        }
        let is_media = |kind| matches!(kind, ObjectKind::Video | ObjectKind::Audio);
        // A segment in parts is asked for part by part.
        let by_parts = case.low_latency().is_some_and(|low_latency| low_latency.delivery == LiveDelivery::Parts);
        prop_assert!(by_parts || asked.iter().filter(|(object, _)| is_media(object.kind)).all(|(_, &times)| times <= 1));
        if *reason == FinishReason::Played && case.live.is_none() {
            let kinds = 1 + i64::from(case.with_audio);
            let segments = 31 * kinds;
            prop_assert_eq!(asked.iter().filter(|(o, _)| is_media(o.kind)).map(|(_, n)| n).sum::<i64>(), segments);
        }
        // Downloads are of what was asked for.
        for event in &events {
            if let EventKind::SegmentDownloaded { request, object, .. } = event.kind {
                prop_assert_eq!(names[&request], object);
            }
        }
    }

    #[test]
    fn stalls_alternate_and_switches_agree_with_the_downloads(case in any_case()) {
        let events = session(&case);
        let mut open = false;
        let mut shown = BTreeMap::new();
        for event in &events {
            match event.kind {
                EventKind::StallStart { since, .. } => {
                    prop_assert!(!open && since < event.at);
                    open = true;
                }
                EventKind::StallEnd { .. } => {
                    prop_assert!(open);
                    open = false;
                }
                EventKind::SegmentDownloaded { object, .. } if object.kind == ObjectKind::Video => {
                    shown.insert(object.segment, object.representation);
                }
                // Pieces are shown before their segment is complete.
                EventKind::SegmentDecision { object, .. }
                    if object.kind == ObjectKind::Video && case.low_latency().is_some() =>
                {
                    shown.insert(object.segment, object.representation);
                }
                EventKind::Switch { segment, from, to } => {
                    prop_assert!(from != to);
                    prop_assert_eq!(shown.get(&segment), Some(&to));
                }
                _ => {}
            }
        }
        prop_assert!(!open);
    }

    #[test]
    fn the_same_session_twice_is_the_same(case in any_case()) {
        prop_assert_eq!(session(&case), session(&case));
    }
}
