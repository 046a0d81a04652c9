//! One kind of media: which segment is asked for next, when, in which representation, and what is under way.

use super::config::{CmcdMode, DashConfig};
use super::connections::{Io, Pool};
use super::moment::{Moment, NOT_CHOSEN};
use super::transfer::{Arrival, Finished, Transfer, What};
use crate::abr::{Abandonment, Abr, Choice, Decision, Download, HISTORY, Progress};
use crate::ladder::Ladder;
use crate::{ConnectionId, Delivery, EventKind, ObjectKind, ObjectRef, Request, RequestId};
use playpath_units::{Duration, Time};

/// Time between two questions whether to give a download up (browsers report progress about every 50 ms).
const REPORT_INTERVAL: Duration = Duration::from_millis(50);

pub(super) struct Track {
    ladder: Ladder,
    abr: Box<dyn Abr>,
    pool: Pool,
    transfers: Vec<Transfer>,
    /// Next segment to ask for.
    next_segment: usize,
    /// All segments before this one are complete.
    appended: usize,
    complete: Vec<bool>,
    chosen: Vec<u8>,
    downloads: Vec<Download>,
    is_filling: bool,
    /// The rule said to wait.
    wait_until: Time,
    retry: Option<(usize, Abandonment)>,
    /// A segment that waits for its initialisation segment, and those that are there (a bit per representation).
    after_init: Option<What>,
    inits: u32,
    idle_since: Option<Time>,
    /// Client data sent once: starved, start-up, start-up delay.
    pub starved: bool,
    pub urgent: bool,
    pub last_estimate: Option<playpath_units::Rate>,
}

impl Track {
    pub fn new(ladder: Ladder, abr: Box<dyn Abr>, config: &DashConfig) -> Track {
        let segments = ladder.segments();
        Track {
            abr,
            pool: Pool::new(config.connections),
            transfers: Vec::new(),
            next_segment: 0,
            appended: 0,
            complete: vec![false; segments],
            chosen: vec![NOT_CHOSEN; segments],
            downloads: Vec::with_capacity(HISTORY + 1),
            is_filling: true,
            wait_until: Time::ZERO,
            retry: None,
            after_init: None,
            inits: 0,
            idle_since: None,
            starved: false,
            urgent: true,
            last_estimate: None,
            ladder,
        }
    }

    pub fn ladder(&self) -> &Ladder {
        &self.ladder
    }
    pub fn appended(&self) -> usize {
        self.appended
    }
    /// Representation of a segment that was asked for.
    pub fn chosen(&self, segment: usize) -> Option<usize> {
        Some(self.chosen[segment]).filter(|&chosen| chosen != NOT_CHOSEN).map(usize::from)
    }
    pub fn is_all_appended(&self) -> bool {
        self.appended == self.ladder.segments()
    }
    /// Representation of the last segment that was asked for.
    pub fn last_chosen(&self) -> Option<usize> {
        (0..self.next_segment).rev().find_map(|segment| self.chosen(segment))
    }
    /// End of the media without a gap.
    pub fn appended_end(&self) -> Duration {
        self.ladder.start_of(self.appended)
    }
    pub fn downloads(&self) -> &[Download] {
        &self.downloads
    }
    pub fn close_all(&mut self, io: &mut Io) {
        self.pool.close_all(io);
        self.transfers.clear();
    }
    pub fn handle_connected(&mut self, now: Time, connection: ConnectionId, io: &mut Io) -> bool {
        self.pool.handle_connected(now, connection, io)
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
        let transfer = &mut self.transfers[index];
        if transfer.received >= transfer.notify_at {
            transfer.notify_at = transfer.total;
        }
        if now < transfer.next_report {
            return None;
        }
        transfer.next_report = now + REPORT_INTERVAL;
        transfer.reports += 1;
        let transfer = *transfer;
        let What::Segment { segment, .. } = transfer.what else { return None };
        if !self.pool.has_one_request(transfer.slot) {
            return None;
        }
        let so_far = transfer.download(now, false)?;
        let progress = Progress { so_far, total_bytes: transfer.total, reports: transfer.reports };
        let context =
            at.context(&self.ladder, &self.downloads, self.next_segment, &self.chosen, self.level(at), Duration::ZERO);
        let abandonment = self.abr.abandon(&context, &progress)?;
        self.retry = Some((segment, abandonment));
        self.transfers.remove(index);
        self.pool.abandon(transfer.slot, request, io);
        io.log.push(now, EventKind::RequestAbandoned(request));
        self.idle_since = self.transfers.is_empty().then_some(now);
        let given_up = Download { is_abandoned: true, ..so_far };
        self.remember(given_up, at);
        Some(given_up)
    }

    /// The response to `request` is complete.
    pub fn finish(&mut self, now: Time, request: RequestId, config: &DashConfig, io: &mut Io) -> Option<Finished> {
        let index = self.transfers.iter().position(|transfer| transfer.request == request)?;
        self.note_first_byte(now, index, config, io);
        let transfer = self.transfers.remove(index);
        self.pool.finish_request(now, transfer.slot, io);
        if let Some(next) = self.transfers.iter_mut().find(|next| next.slot == transfer.slot) {
            next.started_at = next.started_at.max(now);
        }
        self.idle_since = self.transfers.is_empty().then_some(now);
        match transfer.what {
            What::Manifest => {}
            What::Init(representation) => self.inits |= 1 << representation,
            What::Segment { segment, representation } => {
                self.complete[segment] = true;
                while self.complete.get(self.appended) == Some(&true) {
                    self.appended += 1;
                }
                io.log.push(
                    now,
                    EventKind::SegmentDownloaded {
                        request,
                        object: self.object(transfer.what),
                        rate: self.ladder.bitrates()[representation],
                        body_bytes: transfer.total,
                        media_duration: self.ladder.duration_of(segment),
                        download_time: now - transfer.requested_at,
                    },
                );
            }
        }
        Some(Finished { what: transfer.what, download: transfer.download(now, false) })
    }

    /// Keep a download and tell the rule.
    pub fn remember(&mut self, download: Download, at: &Moment) {
        if self.downloads.len() == HISTORY {
            self.downloads.remove(0);
        }
        self.downloads.push(download);
        let context =
            at.context(&self.ladder, &self.downloads, self.next_segment, &self.chosen, self.level(at), Duration::ZERO);
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

    /// When [`drive`](Self::drive) could do more without any arrival.
    pub fn timeout(&self, at: &Moment) -> Time {
        if self.next_segment == self.ladder.segments() || self.slot_for_next(at.config).is_none() {
            return Time::MAX;
        }
        if !self.is_filling {
            let resume = at.config.resume_level.min(at.config.full_level - Duration::from_nanos(1));
            return at.playback.time_of(self.ladder.start_of(self.next_segment).saturating_sub(resume));
        }
        let next = self.wait_until.max(at.available_at(&self.ladder, self.next_segment));
        if next > at.now { next } else { Time::MAX }
    }

    /// A live player jumped: what lies before `segment` is not wanted any more.
    pub fn skip_to(&mut self, position: Duration) {
        let segment = (self.appended..self.ladder.segments())
            .take_while(|&segment| self.ladder.start_of(segment) <= position)
            .last()
            .unwrap_or(self.appended);
        self.appended = self.appended.max(segment);
        while self.complete.get(self.appended) == Some(&true) {
            self.appended += 1;
        }
        self.next_segment = self.next_segment.max(self.appended);
        if self.retry.is_some_and(|(segment, _)| segment < self.appended) {
            self.retry = None;
        }
    }

    /// Body bytes read and not yet played.
    pub fn buffered_bytes(&self, position: Duration) -> u64 {
        let under_way: u64 = self.transfers.iter().map(|transfer| transfer.received).sum();
        let whole = |segment: usize| self.chosen(segment).map_or(0, |chosen| self.ladder.bytes(segment, chosen));
        let ahead: u64 = (0..self.next_segment)
            .rev()
            .take_while(|&segment| self.ladder.start_of(segment + 1) > position)
            .filter(|&segment| self.complete[segment])
            .map(|segment| {
                let left = self.ladder.start_of(segment + 1) - position.max(self.ladder.start_of(segment));
                (whole(segment) as f64 * left.ratio(self.ladder.duration_of(segment))) as u64
            })
            .sum();
        under_way + ahead
    }

    fn level(&self, at: &Moment) -> Duration {
        self.appended_end().saturating_sub(at.playback.position(at.now))
    }

    fn note_first_byte(&mut self, now: Time, index: usize, config: &DashConfig, io: &mut Io) {
        let transfer = &mut self.transfers[index];
        if transfer.first_byte_at.is_none() {
            transfer.first_byte_at = Some(now);
            transfer.notify_at = match config.pipeline_at {
                Some(share) => ((transfer.total as f64 * share) as u64).clamp(1, transfer.total),
                None => transfer.total,
            };
            transfer.next_report = if config.abandonment { now + REPORT_INTERVAL } else { Time::MAX };
            io.log.push(now, EventKind::FirstByte(transfer.request));
        }
    }

    fn slot_for_next(&self, config: &DashConfig) -> Option<usize> {
        let waits_for_init =
            self.transfers.iter().any(|transfer| matches!(transfer.what, What::Init(_) | What::Manifest));
        if waits_for_init {
            return None;
        }
        self.pool.idle_slot().or_else(|| {
            let share = config.pipeline_at?;
            let far_enough = |transfer: &&Transfer| transfer.received as f64 >= share * transfer.total as f64;
            let mut last = self.transfers.iter().filter(|transfer| self.pool.can_pipeline(transfer.slot));
            last.find(far_enough).map(|transfer| transfer.slot)
        })
    }

    fn next_order(&mut self, at: &Moment, io: &mut Io) -> Option<What> {
        if let Some(what) = self.after_init.take() {
            return Some(what);
        }
        let (segment, representation) = match self.retry.take() {
            Some((segment, abandonment)) => {
                let decision = Decision::fetch(abandonment.representation, abandonment.reason);
                (segment, self.note_decision(segment, abandonment.representation, decision, at, io))
            }
            None => {
                let representation = self.decide(at, io)?;
                self.next_segment += 1;
                (self.next_segment - 1, representation)
            }
        };
        self.chosen[segment] = representation as u8;
        let order = What::Segment { segment, representation };
        let init_bytes = self.ladder.representations()[representation].init_bytes;
        if init_bytes > 0 && self.inits & (1 << representation) == 0 {
            self.after_init = Some(order);
            return Some(What::Init(representation));
        }
        Some(order)
    }

    /// The representation of the next segment, if it is to be asked for now.
    fn decide(&mut self, at: &Moment, io: &mut Io) -> Option<usize> {
        let segment = self.next_segment;
        if segment == self.ladder.segments() {
            return None;
        }
        // What is on its way counts as buffered, or parallel requests would overshoot.
        let committed = self.ladder.start_of(segment).saturating_sub(at.playback.position(at.now));
        let full = at.config.full_level;
        self.is_filling =
            if self.is_filling { committed < full } else { committed <= at.config.resume_level && committed < full };
        let is_late = at.now >= self.wait_until && at.now >= at.available_at(&self.ladder, segment);
        if !self.is_filling || !is_late {
            return None;
        }
        let idle = self.idle_since.map_or(Duration::ZERO, |since| at.now.saturating_since(since));
        let context = at.context(&self.ladder, &self.downloads, segment, &self.chosen, self.level(at), idle);
        let decision = self.abr.choose(&context);
        match decision.choice {
            Choice::Fetch(representation) => Some(self.note_decision(segment, representation, decision, at, io)),
            Choice::WaitUntil(until) => {
                self.wait_until = until.max(at.now + Duration::from_nanos(1));
                None
            }
        }
    }

    fn note_decision(&mut self, segment: usize, choice: usize, decision: Decision, at: &Moment, io: &mut Io) -> usize {
        let representation = choice.min(self.ladder.count() - 1);
        self.last_estimate = decision.estimate.or(self.last_estimate);
        io.log.push(
            at.now,
            EventKind::SegmentDecision {
                object: self.object(What::Segment { segment, representation }),
                rate: self.ladder.bitrates()[representation],
                buffer_level: self.level(at),
                estimate: decision.estimate,
                reason: decision.reason,
            },
        );
        representation
    }

    fn send(&mut self, slot: usize, what: What, at: &Moment, io: &mut Io) {
        let (config, id) = (at.config, io.next_request());
        let total = match what {
            What::Manifest => config.http.manifest_bytes,
            What::Init(representation) => self.ladder.representations()[representation].init_bytes,
            What::Segment { segment, representation } => self.ladder.bytes(segment, representation),
        };
        let cmcd = (config.cmcd != CmcdMode::Off).then(|| Box::new(self.client_data(what, total, at)));
        let cmcd_bytes = cmcd.as_ref().and_then(|cmcd| cmcd.query()).map_or(0, |query| query.len() as u32 + 1);
        let request = Request {
            // Set by the pool, which may have to open one.
            connection: ConnectionId(0),
            id,
            request_header_bytes: config.http.request_header_bytes + cmcd_bytes,
            response_header_bytes: config.http.response_header_bytes,
            body_bytes: total,
            delivery: Delivery::AsFastAsPossible,
            object: self.object(what),
            cmcd,
        };
        self.transfers.push(Transfer {
            request: id,
            slot,
            what,
            requested_at: at.now,
            started_at: at.now,
            first_byte_at: None,
            received: 0,
            total,
            notify_at: 1,
            next_report: Time::MAX,
            reports: 0,
            level_at_request: self.level(at),
        });
        self.idle_since = None;
        self.pool.send(at.now, slot, request, io);
    }

    fn object(&self, what: What) -> ObjectRef {
        let media = self.ladder.kind();
        let (kind, segment, representation) = match what {
            What::Manifest => (ObjectKind::Manifest, 0, 0),
            What::Init(representation) => (ObjectKind::Init, 0, representation),
            What::Segment { segment, representation } => (media, segment, representation),
        };
        ObjectRef { kind, segment: segment as u32, representation: representation as u32 }
    }
}
