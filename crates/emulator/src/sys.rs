//! System calls beyond the standard library. Those that rustix lacks, and with them all unsafe code of the crate, are at the end.

use crate::error::EmulatorError;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice, socket_with};
use rustix::process::{Resource, Rlimit, Signal, getppid, getrlimit, set_parent_process_death_signal, setrlimit};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space, set_current_timer_slack};
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;

/// End this process when the one that started it ends. Errors: it has ended already.
pub fn die_with_parent() -> Result<(), EmulatorError> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(|e| EmulatorError::system("death signal")(e.into()))?;
    if getppid() == parent { Ok(()) } else { Err(EmulatorError::ParentExited) }
}

/// Wake up as exactly as the timer allows: the default slack is 50 µs.
pub fn set_min_timer_slack() -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(1))?)
}

/// As many files at a time as the system lets this process have: a soft limit of 1024 is for programs that use select(2).
pub fn raise_file_limit() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?)
}

/// A file that becomes readable when SIGTERM, SIGINT or SIGHUP arrives; they no longer end the process by themselves.
pub fn termination_signals() -> io::Result<UnixStream> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let (readable, written) = UnixStream::pair()?;
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::low_level::pipe::register(signal, written.try_clone()?)?;
    }
    Ok(readable)
}

/// Standard input, if it is a pipe or socket whose other end may be closed.
pub fn stdin_pipe() -> Option<File> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let kind = file.metadata().ok()?.file_type();
    (kind.is_fifo() || kind.is_socket()).then_some(file)
}

pub fn own_namespace() -> io::Result<File> {
    File::open("/proc/thread-self/ns/net")
}

/// Enter a network namespace, with this thread only.
pub fn enter_namespace(namespace: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Create a TUN device in this thread's namespace. It exists as long as the file is open.
pub fn open_tun(name: &str) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).write(true).custom_flags(flags).open("/dev/net/tun")?;
    set_tun(&file, name)?;
    Ok(file)
}

#[derive(Clone, Copy, Debug)]
pub struct DeviceSettings {
    /// Packets that it keeps before it drops.
    pub transmit_queue: u32,
    /// Largest packet, bytes; `None` leaves it unchanged.
    pub mtu: Option<u32>,
    /// Address of this end and of the other one; the device is then switched on.
    pub addresses: Option<(Ipv4Addr, Ipv4Addr)>,
}

impl DeviceSettings {
    /// Apply the settings by netlink (rtnetlink(7)), which, unlike some ioctls, also works inside a user namespace.
    pub fn apply(&self, device: &str) -> io::Result<()> {
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let index = netdevice::name_to_index(&socket, device)?;
        let mut link = Message::new(libc::RTM_NEWLINK);
        let up = if self.addresses.is_some() { libc::IFF_UP as u32 } else { 0 };
        // ifinfomsg: any family, index, flags and which of them change.
        link.append(&[0, index, up, up].map(u32::to_ne_bytes).concat());
        link.attribute(libc::IFLA_TXQLEN, &self.transmit_queue.to_ne_bytes());
        self.mtu.iter().for_each(|mtu| link.attribute(libc::IFLA_MTU, &mtu.to_ne_bytes()));
        if let Some((own, peer)) = self.addresses {
            let mut address = Message::new(libc::RTM_NEWADDR);
            // ifaddrmsg: family, length of the prefix, no flags, anywhere, index.
            address.append(&[libc::AF_INET as u8, 32, 0, 0]);
            address.append(&index.to_ne_bytes());
            address.attribute(libc::IFA_LOCAL, &own.octets());
            address.attribute(libc::IFA_ADDRESS, &peer.octets());
            address.send(&socket)?;
        }
        link.send(&socket)
    }
}

struct Message(Vec<u8>);

impl Message {
    /// nlmsghdr: length (filled in at the end), type, flags, sequence, port.
    fn new(kind: u16) -> Message {
        let mut message = Message(vec![0; 4]);
        message.append(&kind.to_ne_bytes());
        message.append(&((libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
        message.append(&[0; 8]);
        message
    }

    fn append(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.0.extend((4 + value.len() as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend_from_slice(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn send(mut self, socket: &OwnedFd) -> io::Result<()> {
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        rustix::io::write(socket, &self.0)?;
        let mut answer = [0u8; 4096];
        let length = rustix::io::read(socket, &mut answer)?;
        // The header of 16 bytes is followed by the negated error number, or zero.
        match answer[..length].get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes) {
            Some(0) => Ok(()),
            Some(error) => Err(Errno::from_raw_os_error(-error).into()),
            None => Err(io::Error::other("netlink gave no answer")),
        }
    }
}

/// How this process gets a core when it wants one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// SCHED_DEADLINE: before every ordinary process, and before the kernel's servers for starved ones.
    Deadline,
    /// SCHED_FIFO: before every ordinary process, but those servers may take up to 50 ms of every second (Linux 6.12 and later).
    Fifo,
    /// Among ordinary processes, with the best nice value that is allowed and short slices.
    Preferred,
    /// Among ordinary processes, with short slices.
    Ordinary,
}

impl Scheduling {
    /// Name for messages; the kernel's name where it has one.
    pub fn name(self) -> &'static str {
        match self {
            Scheduling::Deadline => "SCHED_DEADLINE",
            Scheduling::Fifo => "SCHED_FIFO",
            Scheduling::Preferred => "ordinary, preferred",
            Scheduling::Ordinary => "ordinary",
        }
    }

    pub fn is_realtime(self) -> bool {
        matches!(self, Scheduling::Deadline | Scheduling::Fifo)
    }
}

/// struct sched_attr of sched_setattr(2), version 0.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Half of a core in every 10 ms is reserved; unreserved time may be used beyond it.
const RESERVED_NANOS: u64 = 5_000_000;
const PERIOD_NANOS: u64 = 10_000_000;
const SCHED_FLAG_RECLAIM: u64 = 2;
const BEST_NICE: i32 = -20;

/// Time slice of an ordinary process, ns: the shorter it is, the sooner the process is scheduled after it wakes up (EEVDF, Linux 6.12 and
/// later; the default is some milliseconds).
const SLICE_NANOS: u64 = 100_000;

/// Set the best scheduling class that is permitted. With two dozen compilers running on the same two cores, a loop for 6 Mbit/s and 60 ms
/// was 12 to 15 ms late
/// (99th percentile) as an ordinary process, 6 to 7 with short slices, 4 with the best nice value, 2.4 with both, and 0.05 ms in either
/// real-time class.
pub fn set_scheduling(wants_realtime: bool) -> Scheduling {
    let deadline = SchedulingAttributes {
        policy: libc::SCHED_DEADLINE as u32,
        flags: SCHED_FLAG_RECLAIM,
        runtime: RESERVED_NANOS,
        deadline: PERIOD_NANOS,
        period: PERIOD_NANOS,
        ..SchedulingAttributes::default()
    };
    let fifo =
        SchedulingAttributes { policy: libc::SCHED_FIFO as u32, priority: 10, ..SchedulingAttributes::default() };
    let ordinary = |nice| SchedulingAttributes { nice, runtime: SLICE_NANOS, ..SchedulingAttributes::default() };
    let choices =
        [(Scheduling::Deadline, deadline), (Scheduling::Fifo, fifo), (Scheduling::Preferred, ordinary(BEST_NICE))];
    let first =
        choices.into_iter().filter(|_| wants_realtime).find(|(_, attributes)| set_attributes(attributes).is_ok());
    first.map_or_else(
        || {
            // An older kernel ignores the slice; nothing forbids it.
            let _ = set_attributes(&ordinary(0));
            Scheduling::Ordinary
        },
        |(scheduling, _)| scheduling,
    )
}

/// Seconds that this process was ready to run and another had the core, so far.
pub fn waited_s() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(text.split(' ').nth(1)?.parse::<f64>().ok()? * 1e-9)
}

#[allow(unsafe_code, reason = "sched_setattr: no library offers it")]
fn set_attributes(attributes: &SchedulingAttributes) -> io::Result<()> {
    let attributes = SchedulingAttributes { size: size_of::<SchedulingAttributes>() as u32, ..*attributes };
    // SAFETY: `attributes` has the layout of the kernel's structure, says its size, and outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[allow(unsafe_code, reason = "the ioctl of a TUN device: no library offers it")]
fn set_tun(file: &File, name: &str) -> io::Result<()> {
    let mut request = [0u8; size_of::<libc::ifreq>()];
    // One byte stays zero: the name ends there.
    let room = &mut request[..libc::IFNAMSIZ - 1];
    room.iter_mut().zip(name.bytes()).for_each(|(place, byte)| *place = byte);
    let flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
    request[libc::IFNAMSIZ..libc::IFNAMSIZ + 2].copy_from_slice(&flags.to_ne_bytes());
    // SAFETY: the request is as large as an ifreq, outlives the call, and holds the name and the flags, which is all that is read.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
