//! What a client says of its playback, and what it is told of the server (CTA-5004, CTA-5006), over any version of HTTP.

use crate::http::Answer;
use crate::outgoing::Source;
use playpath_cc::AppParameters;
use playpath_transport::transports::PathInfo;
use playpath_video::ServerPolicy;
use playpath_video::cmcd::{Cmcd, ServerView, Warning};
use playpath_video::cmsd::Cmsd;

#[derive(Clone, Default)]
pub struct ClientData {
    view: ServerView,
    /// The session that the client says it is of.
    session: Option<String>,
    /// The first implausible value in the client's data.
    pub doubt: Option<Warning>,
    /// Server data (CMSD) sent with each file.
    pub policy: Option<ServerPolicy>,
}

impl ClientData {
    /// What a request's data say to the congestion control, as in the simulator (crates/sim/src/apps/session.rs).
    pub fn handle_request(&mut self, cmcd: &Cmcd, body_bytes: u64) -> Option<AppParameters> {
        self.session.clone_from(&cmcd.sid);
        self.look(|view, doubts| view.handle_request(cmcd, Some(body_bytes), doubts))
    }

    pub fn is_about_session_of(&self, report: &Cmcd) -> bool {
        report.sid.is_some() && report.sid == self.session
    }

    pub fn handle_report(&mut self, report: &Cmcd) -> Option<AppParameters> {
        self.look(|view, doubts| view.handle_report(report, doubts))
    }

    fn look(
        &mut self,
        read: impl FnOnce(&mut ServerView, &mut Vec<Warning>) -> Option<AppParameters>,
    ) -> Option<AppParameters> {
        let mut doubts = Vec::new();
        let parameters = read(&mut self.view, &mut doubts);
        self.doubt = self.doubt.take().or(doubts.into_iter().next());
        parameters
    }

    /// Add the endpoint's estimates for the paths to the client to the answer with a file (CTA-5006).
    pub fn add_server_data(&self, answer: &mut Answer, paths: impl Iterator<Item = PathInfo>) {
        let Some(policy) = self.policy.filter(|_| matches!(answer.body, Some((_, Source::File(..))))) else { return };
        let value = Cmsd::of_server(paths.map(|path| (path.delivery_rate, path.rtt)), policy).dynamic();
        if !value.is_empty() {
            answer.add("CMSD-Dynamic", &value);
            answer.add("Access-Control-Expose-Headers", "CMSD-Dynamic");
        }
    }
}
