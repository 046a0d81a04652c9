//! Failed requests: retry, switch to the next host, or give up.

use super::Track;
use crate::EventKind;
use crate::abr::Abandonment;
use crate::players::dash::connections::Io;
use crate::players::dash::moment::Moment;
use crate::players::dash::transfer::{Transfer, What};
use playpath_units::Time;

impl Track {
    /// Fail requests whose first byte did not arrive in time.
    pub fn expire(&mut self, at: &Moment, io: &mut Io) {
        while let Some(index) = self.transfers.iter().position(|transfer| transfer.is_late(at.now)) {
            let transfer = self.transfers.remove(index);
            self.lines.abandon(transfer.slot, transfer.request, io);
            self.idle_since = self.transfers.is_empty().then_some(at.now);
            self.fail(&transfer, true, at, io);
        }
    }

    /// Ask again, here or at the next host; or give up.
    pub(super) fn fail(&mut self, transfer: &Transfer, is_timeout: bool, at: &Moment, io: &mut Io) {
        io.log.push(at.now, EventKind::RequestFailed { request: transfer.request, is_timeout });
        let What::Segment { segment, representation } = transfer.what else { return };
        let (config, hosts) = (at.config, at.config.origin.as_ref().map_or(1, |origin| origin.hosts));
        self.failures += 1;
        let wait = config.retries.wait(self.failures, is_timeout);
        let is_last_host = self.host + 1 >= hosts;
        match wait {
            Some(_) if config.retries.rotates && hosts > 1 => self.turn_to((self.host + 1) % hosts, at.now, io),
            Some(_) => {}
            None if is_last_host || config.retries.rotates => return self.has_given_up = true,
            None => {
                self.turn_to(self.host + 1, at.now, io);
                self.failures = 0;
            }
        }
        self.retry = Some((segment, Abandonment { representation, reason: "retry" }));
        self.wait_until = at.now + wait.unwrap_or_default();
    }

    fn turn_to(&mut self, host: u8, now: Time, io: &mut Io) {
        self.host = host;
        self.lines.turn_to(host, io);
        io.log.push(now, EventKind::Host { host });
    }
}
