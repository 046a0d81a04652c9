//! One kind of media: which segment is requested next, when and in which representation, and the current downloads.

mod failures;
mod seeking;
mod sending;
mod turn;

use super::client_data::ReportedBuffer;
use super::config::{BackBuffer, DashConfig, LiveDelivery};
use super::connections::{Io, Lines};
use super::moment::{Moment, NOT_CHOSEN};
use super::parts::Parts;
use super::transfer::{Arrival, Finished, Transfer, What};
use crate::abr::{Abandonment, Abr, Decision, Download, HISTORY, Progress, Reports};
use crate::ladder::Ladder;
use crate::{ConnectionId, EventKind, RequestId};
use playpath_units::{Duration, Time};
use std::collections::VecDeque;

pub(super) struct Track {
    pub ladder: Ladder,
    abr: Box<dyn Abr>,
    lines: Lines,
    transfers: Vec<Transfer>,
    next_segment: usize,
    /// First segment of the contiguous media.
    began_at: usize,
    /// All segments from there up to this one are complete.
    pub appended: usize,
    /// Part of that segment that has arrived in pieces.
    partial: Duration,
    parts: Parts,
    complete: Vec<bool>,
    chosen: Vec<u8>,
    /// Representation asked for last.
    pub current: Option<usize>,
    pub downloads: Vec<Download>,
    pub is_filling: bool,
    /// Time until which the rule asked to wait, or until the next check.
    wait_until: Time,
    /// The rule's answer, which waits for room.
    answer: Option<Decision>,
    last_arrival: Time,
    /// When the level was last looked at because something was appended.
    appended_at: Time,
    retry: Option<(usize, Abandonment)>,
    /// A segment that waits for its initialisation segment, and those that are there (a bit per representation).
    after_init: Option<What>,
    inits: u32,
    idle_since: Option<Time>,
    /// Failures of the segment that is asked for, the host, and whether no attempt is left.
    failures: u32,
    host: u8,
    pub has_given_up: bool,
    /// Client data sent once: starved, start-up, start-up delay.
    pub starved: bool,
    /// Reported buffer levels, from the latest one that the server may know.
    pub claims: VecDeque<ReportedBuffer>,
    pub urgent: bool,
    pub last_estimate: Option<playpath_units::Rate>,
    /// Highest representation that the server suggests.
    most: usize,
}

impl Track {
    pub fn new(ladder: Ladder, abr: Box<dyn Abr>, config: &DashConfig) -> Track {
        let segments = ladder.segments();
        Track {
            abr,
            lines: Lines::new(config),
            transfers: Vec::new(),
            next_segment: 0,
            began_at: 0,
            appended: 0,
            partial: Duration::ZERO,
            parts: Parts::default(),
            complete: vec![false; segments],
            chosen: vec![NOT_CHOSEN; segments],
            current: None,
            downloads: Vec::with_capacity(HISTORY + 1),
            is_filling: true,
            wait_until: Time::ZERO,
            answer: None,
            last_arrival: Time::ZERO,
            appended_at: Time::ZERO,
            retry: None,
            after_init: None,
            inits: 0,
            idle_since: None,
            failures: 0,
            host: 0,
            has_given_up: false,
            starved: false,
            claims: VecDeque::new(),
            urgent: true,
            last_estimate: None,
            most: ladder.count() - 1,
            ladder,
        }
    }

    /// Segments of which there is something without a gap.
    pub fn present(&self) -> usize {
        self.appended + usize::from(!self.partial.is_zero())
    }
    pub fn chosen(&self, segment: usize) -> Option<usize> {
        Some(self.chosen[segment]).filter(|&chosen| chosen != NOT_CHOSEN).map(usize::from)
    }
    pub fn is_all_appended(&self) -> bool {
        self.appended == self.ladder.segments()
    }
    /// Start of the media that a seek began with.
    pub fn appended_start(&self) -> Duration {
        self.ladder.start_of(self.began_at)
    }
    pub fn appended_end(&self) -> Duration {
        self.ladder.start_of(self.appended) + self.partial
    }
    pub fn close_all(&mut self, io: &mut Io) {
        self.lines.close_all(io);
        self.transfers.clear();
    }
    pub fn ready_connection(&self) -> Option<ConnectionId> {
        self.lines.ready()
    }
    pub fn handle_connected(&mut self, now: Time, connection: ConnectionId, io: &mut Io) -> bool {
        self.lines.handle_connected(now, connection, io)
    }

    /// The server's estimate for the response to `request`.
    pub fn note_estimate(&mut self, request: RequestId, bits_per_sec: f64, weight: f64) {
        if let Some(transfer) = self.transfers.iter_mut().find(|transfer| transfer.request == request) {
            transfer.estimate = Some((bits_per_sec, weight));
        }
    }

    /// The server suggests no rate above this one; a suggestion below the lowest is none, as in dash.js.
    pub fn suggest_at_most(&mut self, bits_per_sec: f64) {
        let rungs = 0..self.ladder.count();
        let highest = rungs.rev().find(|&rung| self.ladder.bits_per_sec(rung) <= bits_per_sec);
        self.most = highest.unwrap_or(self.ladder.count() - 1);
    }

    /// Body bytes of `request` arrived. Cheap unless something follows from it.
    pub fn receive(&mut self, now: Time, request: RequestId, bytes: u64) -> Arrival {
        let Some(transfer) = self.transfers.iter_mut().find(|transfer| transfer.request == request) else {
            return Arrival::Unknown;
        };
        transfer.received += bytes;
        if transfer.received >= transfer.total {
            Arrival::Complete
        } else if transfer.received >= transfer.notify_at || now >= transfer.next_report {
            Arrival::Progress
        } else {
            Arrival::Quiet
        }
    }

    /// Log the first byte, and ask the rule whether to go on. Returns a download that is given up.
    pub fn progress(&mut self, now: Time, request: RequestId, at: &Moment, io: &mut Io) -> Option<Download> {
        let index = self.transfers.iter().position(|transfer| transfer.request == request)?;
        self.note_first_byte(now, index, at.config, io);
        self.note_pieces(now, index);
        let transfer = &mut self.transfers[index];
        if transfer.received >= transfer.notify_at {
            transfer.notify_at = transfer.total;
        }
        if now < transfer.next_report { None } else { self.report(now, index, at, io) }
    }

    /// Whether the rule refuses the completed download of `request`, as it may abandon one.
    pub fn refuses(&mut self, now: Time, request: RequestId, at: &Moment, io: &mut Io) -> bool {
        let index = self.transfers.iter().position(|transfer| transfer.request == request);
        let Some(index) = index.filter(|_| self.abr.reports() == Reports::Arrivals) else {
            return false;
        };
        self.note_first_byte(now, index, at.config, io);
        self.report(now, index, at, io).is_some()
    }

    pub fn report_by_timer(&mut self, now: Time, at: &Moment, io: &mut Io) {
        if !matches!(self.abr.reports(), Reports::Timer(_)) {
            return;
        }
        while let Some(index) = self.transfers.iter().position(|transfer| transfer.next_report <= now) {
            self.report(now, index, at, io);
        }
    }

    fn report(&mut self, now: Time, index: usize, at: &Moment, io: &mut Io) -> Option<Download> {
        let reports = self.abr.reports();
        let transfer = &mut self.transfers[index];
        transfer.next_report = match reports {
            Reports::Timer(every) => transfer.next_report + every,
            Reports::AfterFirstByte(every) => now + every,
            Reports::Arrivals => now,
        };
        transfer.reports += 1;
        let transfer = *transfer;
        let (What::Segment { segment, .. } | What::Part { segment, .. }) = transfer.what else { return None };
        if transfer.is_error || !self.lines.has_one_request(transfer.slot) {
            return None;
        }
        let (level, next) = (self.known_level(at), self.next_segment);
        let so_far = transfer.download(now, false, level)?;
        let progress = Progress { so_far, total_bytes: transfer.total, reports: transfer.reports };
        let context = at.context(&self.ladder, &self.downloads, next, self.current, level, Duration::ZERO);
        // A rule that measures with all that arrives hears of it even where it may not give up.
        let abandonment = self.abr.abandon(&context, &progress).filter(|_| at.config.abandonment)?;
        self.retry = Some((segment, abandonment));
        self.transfers.remove(index);
        if transfer.received < transfer.total {
            self.lines.abandon(transfer.slot, transfer.request, io);
        } else {
            self.lines.finish_request(now, transfer.slot, io);
        }
        io.log.push(now, EventKind::RequestAbandoned { request: transfer.request });
        self.idle_since = self.transfers.is_empty().then_some(now);
        let given_up = Download { is_abandoned: true, ..so_far };
        self.last_arrival = now;
        self.remember(given_up, at);
        Some(given_up)
    }

    /// Make the arrived pieces of the response available for playback.
    fn note_pieces(&mut self, now: Time, index: usize) {
        let transfer = &mut self.transfers[index];
        let Some(arrivals) = &mut transfer.arrivals else { return };
        let segment = transfer.what.segment();
        if arrivals.note(now, transfer.received, transfer.total) && segment == self.appended {
            self.partial = arrivals.pieces.media(arrivals.count, self.ladder.duration_of(segment));
        }
        transfer.notify_at = arrivals.next_mark(transfer.total);
    }

    pub fn finish(&mut self, now: Time, request: RequestId, at: &Moment, io: &mut Io) -> Option<Finished> {
        let index = self.transfers.iter().position(|transfer| transfer.request == request)?;
        self.note_first_byte(now, index, at.config, io);
        let level = self.known_level(at);
        self.note_pieces(now, index);
        let transfer = self.transfers.remove(index);
        self.lines.finish_request(now, transfer.slot, io);
        if let Some(next) = self.transfers.iter_mut().find(|next| next.slot == transfer.slot) {
            next.started_at = next.started_at.max(now);
        }
        self.idle_since = self.transfers.is_empty().then_some(now);
        if transfer.is_error {
            self.fail(&transfer, false, at, io);
            return None;
        }
        let mut download = transfer.download(now, false, level);
        match transfer.what {
            What::Manifest => {}
            What::Init(representation) => self.inits |= 1 << representation,
            What::Segment { .. } => self.complete(&download?, request, at, io),
            What::Playlist { segment, part } => {
                let pieces = at.pieces(LiveDelivery::Parts, &self.ladder, segment)?;
                self.parts.handle_playlist(segment, part, transfer.requested_at, &self.ladder, at, pieces);
            }
            What::Part { segment, part, .. } => {
                let pieces = at.pieces(LiveDelivery::Parts, &self.ladder, segment)?;
                download = self.parts.handle_part(part, pieces, &transfer, now, level);
                match &download {
                    Some(whole) => self.complete(whole, request, at, io),
                    None if segment == self.appended => {
                        self.partial = pieces.media(part + 1, self.ladder.duration_of(segment));
                    }
                    None => {}
                }
            }
        }
        Some(Finished { what: transfer.what, download })
    }

    fn complete(&mut self, download: &Download, request: RequestId, at: &Moment, io: &mut Io) {
        let (now, config) = (at.now, at.config);
        let Download { segment, representation, .. } = *download;
        // A decoder goes on with the pictures that it has up to the next segment.
        let is_late = self.complete[segment] && at.playback.position(now) > self.ladder.start_of(segment);
        self.complete[segment] = true;
        self.failures = 0;
        self.chosen[segment] = representation as u8;
        (self.last_arrival, self.appended_at) = (now, now);
        if config.check.is_some() {
            self.wait_until = Time::ZERO;
        }
        self.append();
        self.pass_what_is_there(config);
        io.log.push(
            now,
            EventKind::SegmentDownloaded {
                request,
                object: self.object(What::Segment { segment, representation }),
                rate: self.ladder.bitrates()[representation],
                body_bytes: download.bytes,
                media_duration: self.ladder.duration_of(segment),
                download_time: now - download.requested_at,
                is_late,
                scores: self.ladder.scores(segment, representation),
            },
        );
    }

    /// Append complete segments that follow the buffered media.
    fn append(&mut self) {
        while self.complete.get(self.appended) == Some(&true) {
            (self.appended, self.partial) = (self.appended + 1, Duration::ZERO);
        }
    }

    /// A client that keeps what a seek left behind does not fetch it again.
    fn pass_what_is_there(&mut self, config: &DashConfig) {
        while config.back_buffer == BackBuffer::Unlimited && self.complete.get(self.next_segment) == Some(&true) {
            self.next_segment += 1;
        }
    }

    pub fn remember(&mut self, download: Download, at: &Moment) {
        if self.downloads.len() == HISTORY {
            self.downloads.remove(0);
        }
        self.downloads.push(download);
        let (level, next) = (self.known_level(at), self.next_segment);
        let context = at.context(&self.ladder, &self.downloads, next, self.current, level, Duration::ZERO);
        self.abr.on_download(&context, &download);
    }

    /// Ask for the manifest: the first request of the session.
    pub fn fetch_manifest(&mut self, at: &Moment, io: &mut Io) {
        self.send(0, What::Manifest, at, io);
    }

    /// Send what can be sent now.
    pub fn drive(&mut self, at: &Moment, io: &mut Io) {
        while let Some(slot) = self.slot_for_next(at.config) {
            let Some(what) = self.next_order(at, io) else { break };
            self.send(slot, what, at, io);
        }
    }

    /// When [`drive`](Self::drive) or [`report_by_timer`](Self::report_by_timer) could do more without any arrival.
    pub fn timeout(&self, at: &Moment) -> Time {
        let by_timer = matches!(self.abr.reports(), Reports::Timer(_));
        let reports = self.transfers.iter().filter(|_| by_timer).map(|transfer| transfer.next_report);
        let deadlines = self.transfers.iter().filter(|transfer| transfer.first_byte_at.is_none());
        let deadline = deadlines.map(|transfer| transfer.deadline).min().unwrap_or(Time::MAX);
        reports.min().unwrap_or(Time::MAX).min(deadline).min(self.next_request_at(at))
    }

    fn next_request_at(&self, at: &Moment) -> Time {
        let is_last = self.next_segment == self.ladder.segments();
        if (is_last && self.retry.is_none()) || self.slot_for_next(at.config).is_none() {
            return Time::MAX;
        }
        if !self.is_filling && at.config.check.is_none() {
            return at
                .playback
                .time_of(self.committed_end(self.next_in_turn()).saturating_sub(self.room_level(at.config)));
        }
        let next = self.may_ask_at(at);
        if next > at.now { next } else { Time::MAX }
    }

    /// A live player jumped: what lies before `segment` is not wanted any more.
    pub fn skip_to(&mut self, position: Duration) {
        let segment = (self.appended..self.ladder.segments())
            .take_while(|&segment| self.ladder.start_of(segment) <= position)
            .last()
            .unwrap_or(self.appended);
        if segment > self.appended {
            (self.appended, self.partial) = (segment, Duration::ZERO);
        }
        self.append();
        self.parts.skip_to(self.appended);
        self.next_segment = self.next_segment.max(self.appended);
        if self.retry.is_some_and(|(segment, _)| segment < self.appended) {
            self.retry = None;
        }
    }

    /// Nothing is under way, and there is no room, or nothing left to fetch.
    pub fn is_at_rest(&self) -> bool {
        self.transfers.is_empty() && (!self.is_filling || self.is_all_appended())
    }

    /// Body bytes read and not yet played.
    pub fn buffered_bytes(&self, position: Duration) -> u64 {
        let ahead = (0..self.next_segment)
            .rev()
            .take_while(|&segment| self.ladder.start_of(segment + 1) > position)
            .map(|segment| self.bytes_in(segment, |start, end| end - position.max(start)));
        self.bytes_under_way() + ahead.sum::<u64>()
    }

    pub fn bytes_under_way(&self) -> u64 {
        self.transfers.iter().map(|transfer| transfer.received).sum()
    }

    /// Body bytes of the part, by media time, that `part` tells of each segment that is there, from its start and its end.
    pub fn bytes_of(&self, part: impl Fn(Duration, Duration) -> Duration) -> u64 {
        (0..self.ladder.segments()).map(|segment| self.bytes_in(segment, &part)).sum()
    }

    fn bytes_in(&self, segment: usize, part: impl Fn(Duration, Duration) -> Duration) -> u64 {
        let Some(chosen) = self.chosen(segment).filter(|_| self.complete[segment]) else { return 0 };
        let part = part(self.ladder.start_of(segment), self.ladder.start_of(segment + 1));
        (self.ladder.bytes(segment, chosen) as f64 * part.ratio(self.ladder.duration_of(segment))) as u64
    }

    fn level(&self, at: &Moment) -> Duration {
        self.appended_end().saturating_sub(at.playback.position(at.now))
    }

    /// The last known position of the playhead: at the last time update, or when media were appended or removed.
    fn known_position(&self, at: &Moment) -> Duration {
        let every = at.config.time_update.filter(|_| at.low_latency().is_none());
        let looked_at = every.map_or(at.now, |every| {
            at.playback.position_reported_at(at.now, every).max(self.appended_at).max(removed_at(at))
        });
        at.playback.position(looked_at)
    }

    fn known_level(&self, at: &Moment) -> Duration {
        self.appended_end().saturating_sub(self.known_position(at))
    }

    fn note_first_byte(&mut self, now: Time, index: usize, config: &DashConfig, io: &mut Io) {
        let transfer = &mut self.transfers[index];
        if transfer.first_byte_at.is_none() {
            transfer.first_byte_at = Some(now);
            transfer.notify_at = match config.pipeline_at {
                Some(share) => ((transfer.total as f64 * share) as u64).clamp(1, transfer.total),
                None => transfer.total,
            };
            if let (true, Reports::AfterFirstByte(every)) = (config.abandonment, self.abr.reports()) {
                transfer.next_report = now + every;
            }
            io.log.push(now, EventKind::FirstByte { request: transfer.request });
        }
    }

    fn slot_for_next(&self, config: &DashConfig) -> Option<usize> {
        let waits_for_init = self
            .transfers
            .iter()
            .any(|transfer| matches!(transfer.what, What::Init(_) | What::Manifest | What::Playlist { .. }));
        if waits_for_init {
            return None;
        }
        self.lines.idle_slot().or_else(|| {
            let share = config.pipeline_at?;
            let far_enough = |transfer: &&Transfer| transfer.received as f64 >= share * transfer.total as f64;
            let mut last = self.transfers.iter().filter(|transfer| self.lines.can_pipeline(transfer.slot));
            last.find(far_enough).map(|transfer| transfer.slot)
        })
    }
}

/// When dash.js last removed what lies too far behind: every ten seconds (`bufferPruningInterval`), once there is such.
fn removed_at(at: &Moment) -> Time {
    const EVERY: u64 = 10_000_000_000;
    let started_at = at.playback.started_at;
    let rounds = at.now.saturating_since(started_at).as_nanos() / EVERY;
    let last = started_at + Duration::from_nanos(EVERY * rounds);
    match at.config.back_buffer {
        BackBuffer::Length(length) if at.playback.position(last) > length => last,
        _ => Time::ZERO,
    }
}
