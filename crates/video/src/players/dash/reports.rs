//! Reports of client data independent of requests: CMCD's event mode (CTA-5004-B), in which the former response mode is the event `rr`. A
//! request reports the buffer only when something is requested; a report does so when playback changes, during a long download, and while
//! nothing is requested.
//!
//! Events are read from the player's own log, so that a report contains nothing that the record lacks. A report is a
//! POST whose body is one dictionary and a line feed (`application/cmcd`). It goes to the origin on a connection of the media that
//! is open, and does not wait for the answer to the one before, as in HTTP/2; without an open connection it waits for one.

use super::config::DashConfig;
use crate::cmcd::{Cmcd, Event};
use crate::{ConnectionId, Delivery, EventKind, ObjectKind, ObjectRef, PlaybackEvent, Request, RequestId};
use playpath_units::{Duration, Rate, Time};

#[derive(Debug, Default)]
pub(super) struct Reporter {
    /// Entries of the log that were looked at.
    seen: usize,
    /// When the next report by the clock is due; `None` before the first.
    due: Option<Time>,
    /// Rate of the segment that was chosen last.
    rate: Option<Rate>,
    waiting: Vec<Cmcd>,
}

/// Events to report besides the state of the player.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportedEvent {
    pub event: Event,
    pub at: Time,
    pub response: Option<Response>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Response {
    pub object: ObjectRef,
    pub media_duration: Duration,
    pub first_byte_after: Option<Duration>,
    pub took: Duration,
}

impl Reporter {
    /// Events to be reported since the last call.
    pub fn due_events(&mut self, now: Time, log: &[PlaybackEvent], config: &DashConfig) -> Vec<ReportedEvent> {
        let mut found = Vec::new();
        if self.due.is_none_or(|due| due <= now) && config.cmcd_events.contains(&Event::Interval) {
            self.due = Some(now + config.cmcd_interval);
            found.push(ReportedEvent { event: Event::Interval, at: now, response: None });
        }
        for (place, entry) in log.iter().enumerate().skip(self.seen) {
            let reported = self.reported(entry, &log[..place]);
            found.extend(reported.filter(|reported| config.cmcd_events.contains(&reported.event)));
        }
        self.seen = log.len();
        found
    }

    fn reported(&mut self, entry: &PlaybackEvent, before: &[PlaybackEvent]) -> Option<ReportedEvent> {
        let plain = |event| Some(ReportedEvent { event, at: entry.at, response: None });
        match entry.kind {
            EventKind::PlaybackStarted
            | EventKind::StallStart { .. }
            | EventKind::StallEnd { .. }
            | EventKind::SeekStart { .. }
            | EventKind::SeekEnd { .. } => plain(Event::PlayState),
            EventKind::RequestFailed { .. } => plain(Event::Error),
            EventKind::SegmentDecision { object, rate, .. } if object.kind == ObjectKind::Video => {
                let is_change = self.rate.replace(rate).is_some_and(|old| old != rate);
                if is_change { plain(Event::BitrateChange) } else { None }
            }
            EventKind::SegmentDownloaded { request, object, media_duration, download_time, .. } => {
                let requested_at = entry.at - download_time;
                let first_byte_after = first_byte(before, request).map(|at| at.saturating_since(requested_at));
                let response = Response { object, media_duration, first_byte_after, took: download_time };
                // CTA-5004-B: `ts` of this event is the time of the request.
                Some(ReportedEvent { event: Event::ResponseReceived, at: requested_at, response: Some(response) })
            }
            _ => None,
        }
    }

    pub fn push(&mut self, report: Cmcd) {
        self.waiting.push(report);
    }

    pub fn poll_timeout(&self) -> Time {
        self.due.unwrap_or(Time::MAX)
    }

    pub fn take(&mut self) -> Vec<Cmcd> {
        std::mem::take(&mut self.waiting)
    }
}

pub(super) fn request(cmcd: Cmcd, connection: ConnectionId, id: RequestId, config: &DashConfig) -> Request {
    Request {
        connection,
        id,
        request_header_bytes: config.http.request_header_bytes + cmcd.report().len() as u32,
        response_header_bytes: config.http.response_header_bytes,
        body_bytes: 0,
        delivery: Delivery::AsFastAsPossible,
        priority: config.protocol.priority(ObjectKind::Report),
        object: ObjectRef { kind: ObjectKind::Report, segment: 0, representation: 0 },
        cmcd: Some(Box::new(cmcd)),
        cmsd: None,
    }
}

fn first_byte(log: &[PlaybackEvent], of: RequestId) -> Option<Time> {
    let is_it = |entry: &&PlaybackEvent| entry.kind == EventKind::FirstByte { request: of };
    log.iter().rev().find(is_it).map(|entry| entry.at)
}
