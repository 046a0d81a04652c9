//! Applications over the network: a video session (player and HTTP server), and cross traffic. Each is notified of events at
//! its endpoints and of its timer.

mod bulk;
mod frames;
mod on_off;
mod session;
mod setup;
mod socket_buffer;
mod web;

pub use bulk::BulkSource;
pub use frames::FrameSource;
pub use on_off::OnOffSource;
pub use session::{SessionConfig, VideoSession};
pub use setup::FlowSetup;
pub use web::WebSource;

use crate::network::{Network, Notice};

/// An application. One enum instead of trait objects: the engine only routes to them.
pub enum App {
    Video(Box<VideoSession>),
    Bulk(BulkSource),
    Frames(Box<FrameSource>),
    Web(WebSource),
    OnOff(OnOffSource),
}

impl App {
    /// The run begins: arm the first timer.
    pub fn start(&mut self, net: &mut Network) {
        match self {
            App::Video(app) => app.start(net),
            App::Bulk(app) => app.start(net),
            App::Frames(app) => app.start(net),
            App::Web(app) => app.start(net),
            App::OnOff(app) => app.start(net),
        }
    }

    pub fn handle_timeout(&mut self, net: &mut Network) {
        match self {
            App::Video(app) => app.handle_timeout(net),
            App::Bulk(app) => app.handle_timeout(net),
            App::Frames(app) => app.handle_timeout(net),
            App::Web(app) => app.handle_timeout(net),
            App::OnOff(app) => app.handle_timeout(net),
        }
    }

    /// Something happened at one of its endpoints.
    pub fn handle_notice(&mut self, net: &mut Network, notice: Notice) {
        match self {
            App::Video(app) => app.handle_notice(net, notice),
            App::Bulk(app) => app.handle_notice(net, notice),
            App::Frames(app) => app.handle_notice(net, notice),
            App::Web(app) => app.handle_notice(net, notice),
            App::OnOff(_) => {}
        }
    }
}
