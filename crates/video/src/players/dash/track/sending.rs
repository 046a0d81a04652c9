//! Sending a request: its contents, and the state kept for it.

use super::Track;
use crate::abr::Reports;
use crate::origin::ERROR_BYTES;
use crate::players::dash::config::{CmcdMode, LiveDelivery};
use crate::players::dash::connections::Io;
use crate::players::dash::moment::Moment;
use crate::players::dash::parts;
use crate::players::dash::pieces::Arrivals;
use crate::players::dash::transfer::{Transfer, What};
use crate::{ConnectionId, Delivery, ObjectKind, ObjectRef, Request};
use playpath_units::Time;

impl Track {
    pub(super) fn send(&mut self, slot: usize, what: What, at: &Moment, io: &mut Io) {
        let (config, id) = (at.config, io.next_request());
        let total = match what {
            What::Manifest => config.http.manifest_bytes,
            What::Init(representation) => self.ladder.representations()[representation].init_bytes,
            What::Segment { segment, representation } => self.ladder.bytes(segment, representation),
            What::Playlist { .. } => at.low_latency().map_or(0, |low_latency| low_latency.playlist_bytes),
            What::Part { segment, part, representation } => {
                let bytes = self.ladder.bytes(segment, representation);
                at.pieces(LiveDelivery::Parts, &self.ladder, segment)
                    .map_or(bytes, |pieces| parts::part_bytes(bytes, pieces, part))
            }
        };
        let fate = config.origin.as_ref().filter(|_| matches!(what, What::Segment { .. }));
        let fate = fate.map(|origin| origin.fate(self.object(what), self.failures, self.host, at.now));
        let is_error = fate.is_some_and(|fate| fate.is_error);
        let total = if is_error { ERROR_BYTES } else { total };
        let cmcd = (config.cmcd != CmcdMode::Off).then(|| Box::new(self.client_data(what, total, at)));
        let cmcd_bytes = cmcd.as_ref().and_then(|cmcd| cmcd.query()).map_or(0, |query| query.len() as u32 + 1);
        let request = Request {
            // Set by the pool, which may have to open one.
            connection: ConnectionId(0),
            id,
            request_header_bytes: config.http.request_header_bytes + cmcd_bytes,
            response_header_bytes: config.http.response_header_bytes,
            body_bytes: total,
            priority: config.protocol.priority(self.ladder.kind()),
            delivery: fate.map_or_else(|| self.delivery(what, at), |fate| fate.delivery),
            object: self.object(what),
            cmcd,
            cmsd: config.cmsd.map(|cmsd| cmsd.policy),
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
            next_report: match self.abr.reports() {
                Reports::Timer(every) if config.abandonment => at.now + every,
                Reports::Arrivals => at.now,
                _ => Time::MAX,
            },
            reports: 0,
            level_at_request: self.level(at),
            is_error,
            deadline: fate.map_or(Time::MAX, |_| at.now + config.retries.timeout),
            estimate: None,
            is_replacement: matches!(what, What::Segment { segment, .. } if self.complete[segment]),
            arrivals: match what {
                What::Segment { segment, .. } => {
                    at.pieces(LiveDelivery::Chunks, &self.ladder, segment).map(Arrivals::new)
                }
                _ => None,
            },
        });
        self.idle_since = None;
        self.lines.send(at.now, slot, request, io);
    }

    fn delivery(&self, what: What, at: &Moment) -> Delivery {
        match what {
            What::Segment { segment, .. } => at.delivery(&self.ladder, segment),
            What::Playlist { segment, part } => match at.pieces(LiveDelivery::Parts, &self.ladder, segment) {
                Some(pieces) => parts::blocking(&self.ladder, at, pieces, segment, part),
                None => Delivery::AsFastAsPossible,
            },
            _ => Delivery::AsFastAsPossible,
        }
    }

    pub(super) fn object(&self, what: What) -> ObjectRef {
        let kind = match what {
            What::Manifest | What::Playlist { .. } => ObjectKind::Manifest,
            What::Init(_) => ObjectKind::Init,
            What::Segment { .. } | What::Part { .. } => self.ladder.kind(),
        };
        ObjectRef { kind, segment: what.segment() as u32, representation: what.representation() as u32 }
    }
}
