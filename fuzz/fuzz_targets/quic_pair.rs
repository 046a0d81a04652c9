//! No order of operations on a pair of QUIC endpoints, over one path or three, with any scheduler, over a network that loses, doubles,
//! delays and breaks, makes one panic, send without end, or read what was not written; when the network recovers, all that was written is
//! read.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use playpath_transport::mptcp::scheduler;
use playpath_transport::quic::Connection;
use playpath_transport::quic::config::Config;
use playpath_transport::quic::packet::{Address, Datagram};
use playpath_units::{Duration, Time};

const DELAY: Duration = Duration::from_millis(20);
const PATHS: u8 = 3;

#[derive(Arbitrary, Debug)]
enum Step {
    /// Milliseconds pass.
    Pass(u8),
    Write {
        by_client: bool,
        bytes: u16,
    },
    Read,
    Backup {
        by_client: bool,
        path: u8,
        is_backup: bool,
    },
    Migrate(u8),
    /// The next datagrams of a path are lost, or doubled.
    Lose {
        path: u8,
        count: u8,
    },
    Double {
        path: u8,
        count: u8,
    },
    Rebind,
}

#[derive(Arbitrary, Debug)]
struct Input {
    is_multipath: bool,
    scheduler: u8,
    steps: Vec<Step>,
}

struct World {
    now: Time,
    ends: [Connection; 2],
    under_way: Vec<(Time, bool, Datagram)>,
    lost: [u32; PATHS as usize],
    doubled: [u32; PATHS as usize],
    port: u16,
    sent: u32,
}

impl World {
    fn drain(&mut self) {
        for is_client in [true, false] {
            while let Some(mut datagram) = self.ends[usize::from(!is_client)].poll_transmit(self.now) {
                self.sent += 1;
                assert!(self.sent < 200_000, "no end of sending");
                let path = usize::from(datagram.link_path().min(PATHS - 1));
                if is_client {
                    datagram.from.port = datagram.from.port.wrapping_add(self.port);
                }
                if self.lost[path] > 0 {
                    self.lost[path] -= 1;
                    continue;
                }
                if self.doubled[path] > 0 {
                    self.doubled[path] -= 1;
                    self.under_way.push((self.now + DELAY * 2, is_client, datagram.clone()));
                }
                self.under_way.push((self.now + DELAY, is_client, datagram));
            }
            while self.ends[usize::from(!is_client)].poll_event().is_some() {}
        }
    }

    fn pass(&mut self, until: Time) {
        let mut turns = 0;
        loop {
            self.drain();
            turns += 1;
            assert!(turns < 100_000, "nothing moves");
            let due = self.under_way.iter().map(|(at, ..)| *at).min().unwrap_or(Time::MAX);
            let at = due.min(self.ends[0].poll_timeout()).min(self.ends[1].poll_timeout()).max(self.now);
            if at > until {
                break;
            }
            self.now = at;
            match self.under_way.iter().position(|(when, ..)| *when == at) {
                Some(place) => {
                    let (_, by_client, datagram) = self.under_way.remove(place);
                    self.ends[usize::from(by_client)].handle_datagram(at, &datagram);
                }
                None => self.ends.iter_mut().for_each(|end| end.handle_timeout(at)),
            }
        }
        self.now = until;
    }
}

fn world(input: &Input) -> World {
    let config = Config { idle_timeout: Duration::ZERO, ..Config::default() };
    let control = || playpath_cc::build("cubic", config.initial_window).expect("registered");
    let mut ends = [Connection::connect(Time::ZERO, config, control()), Connection::listen(config, control())];
    if input.is_multipath {
        let entry = scheduler::entries()[usize::from(input.scheduler) % scheduler::entries().len()];
        let made = || scheduler::build(entry.name).expect("registered");
        ends = ends.map(|end| end.with_paths((1..PATHS).map(|_| control()).collect(), made(), false));
    }
    let none = [0; PATHS as usize];
    World { now: Time::ZERO, ends, under_way: vec![], lost: none, doubled: none, port: 0, sent: 0 }
}

fuzz_target!(|input: Input| {
    let mut world = world(&input);
    let mut stream = None;
    let mut written = [0u64; 2];
    let mut read = [0u64; 2];
    let take = |world: &mut World, stream: Option<u64>, read: &mut [u64; 2]| {
        let Some(id) = stream else { return };
        for (end, sum) in world.ends.iter_mut().zip(read) {
            *sum += end.read(world.now, id, u64::MAX);
        }
    };
    for step in input.steps.iter().take(200) {
        stream = stream.or_else(|| world.ends[0].open());
        match *step {
            Step::Pass(millis) => world.pass(world.now + Duration::from_millis(millis.into())),
            Step::Write { by_client, bytes } => {
                if let Some(id) = stream {
                    let end = usize::from(!by_client);
                    written[end] += world.ends[end].write(id, bytes.into());
                }
            }
            Step::Read => take(&mut world, stream, &mut read),
            Step::Backup { by_client, path, is_backup } => {
                world.ends[usize::from(!by_client)].set_backup(usize::from(path % PATHS), is_backup);
            }
            Step::Migrate(host) if !input.is_multipath => {
                world.ends[0].migrate(world.now, Address { host: u16::from(host % PATHS) + 1, port: 50_000 });
            }
            Step::Migrate(_) => {}
            Step::Lose { path, count } => world.lost[usize::from(path % PATHS)] += u32::from(count % 16),
            Step::Double { path, count } => world.doubled[usize::from(path % PATHS)] += u32::from(count % 16),
            Step::Rebind => world.port = world.port.wrapping_add(100),
        }
        world.drain();
    }
    world.lost = [0; PATHS as usize];
    for _ in 0..60 {
        world.pass(world.now + Duration::from_secs(5));
        take(&mut world, stream, &mut read);
    }
    // A connection whose client moved before anything was confirmed, or whose validation failed, may have ended.
    if world.ends.iter().all(Connection::is_established) {
        assert_eq!((read[0], read[1]), (written[1], written[0]));
    }
    assert!(read[0] <= written[1] && read[1] <= written[0]);
});
