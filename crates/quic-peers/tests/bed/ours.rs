//! Our endpoint with quinn's settings.

use super::{DATAGRAM, Ends};
use playpath_cc::CongestionControl;
use playpath_transport::mptcp::scheduler;
use playpath_transport::quic::config::{Config, FlowWindows, Pacing, WindowFit};
use playpath_transport::quic::packet::Datagram;
use playpath_transport::quic::{Connection, Event};
use playpath_units::{Duration, Time};

pub struct Ours {
    client: Connection,
    server: Connection,
    stream: Option<u64>,
}

/// quinn's habits: it reduces the window, not what is in flight, and knows no HyStart and no limit per ACK. Those that a control has.
pub fn habits(name: &str) -> Vec<(&'static str, &'static str)> {
    let declared = playpath_cc::find(name).unwrap().params;
    let all = [("reduce_from", "cwnd"), ("slow_start", "classic"), ("abc_limit", "65535")];
    all.into_iter().filter(|(name, _)| declared.iter().any(|spec| spec.name == *name)).collect()
}

/// Our control with them.
pub fn stock(name: &str) -> Box<dyn CongestionControl> {
    let entry = playpath_cc::find(name).unwrap();
    let mut params = playpath_cc::Params::defaults(entry.params);
    habits(name).into_iter().for_each(|(name, value)| params.set_text(name, value).unwrap());
    (entry.build)(&params, 10.0)
}

impl Ours {
    pub fn new(control: impl Fn() -> Box<dyn CongestionControl>) -> Ours {
        Ours::of(control, 1, |config| (config.loss.undo, config.window_fit) = (false, WindowFit::Below))
    }
    /// Several are used as the scheduler of Linux says.
    pub fn over(control: impl Fn() -> Box<dyn CongestionControl>, paths: usize, pacing: Pacing) -> Ours {
        Ours::of(control, paths, |config| {
            config.pacing = pacing;
            config.loss.undo = false;
        })
    }
    /// With other habits than quinn's.
    pub fn of(control: impl Fn() -> Box<dyn CongestionControl>, paths: usize, habits: impl Fn(&mut Config)) -> Ours {
        let window = 32 << 20;
        let flow = FlowWindows {
            connection: window,
            stream: window,
            max_connection: window,
            max_stream: window,
            update_eighths: 1,
        };
        let mut config = Config { datagram_bytes: DATAGRAM, send_buffer: 8 << 20, flow, ..Config::default() };
        habits(&mut config);
        config.pacing.in_trains = true; // as quinn paces
        config.idle_timeout = Duration::from_secs(300);
        let mut client = Connection::connect(Time::ZERO, config, control());
        let mut server = Connection::listen(config, control());
        if paths > 1 {
            let further = || (1..paths).map(|_| control()).collect();
            let scheduler = || scheduler::build("linux").unwrap();
            client = client.with_paths(further(), scheduler(), false);
            server = server.with_paths(further(), scheduler(), false);
        }
        Ours { client, server, stream: None }
    }
}

impl Ends for Ours {
    type Datagram = Datagram;

    fn poll(&mut self, now: Time, is_client: bool, _most: usize) -> Option<(Datagram, usize, u64)> {
        let end = if is_client { &mut self.client } else { &mut self.server };
        end.poll_transmit(now).map(|datagram| {
            let (path, bytes) = (usize::from(datagram.path_id), u64::from(datagram.wire_bytes()));
            (datagram, path, bytes)
        })
    }
    fn handle(&mut self, now: Time, is_client: bool, _path: usize, datagram: Datagram) {
        let end = if is_client { &mut self.client } else { &mut self.server };
        end.handle_datagram(now, &datagram);
    }
    fn timeout(&mut self) -> Time {
        self.client.poll_timeout().min(self.server.poll_timeout())
    }
    fn handle_timeout(&mut self, now: Time) {
        self.client.handle_timeout(now);
        self.server.handle_timeout(now);
    }
    fn pump(&mut self, now: Time) {
        self.stream = self.stream.or_else(|| self.client.open());
        if let Some(id) = self.stream {
            self.client.write(id, u64::MAX);
        }
        while let Some(event) = self.server.poll_event() {
            if let Event::Readable(id) = event {
                self.server.read(now, id, u64::MAX);
            }
        }
        while self.client.poll_event().is_some() {}
    }
    fn delivered(&self) -> u64 {
        self.server.stats().bytes_delivered
    }
    fn lost(&mut self, path: usize) -> u64 {
        self.client.path_stats(path).packets_lost
    }
}
