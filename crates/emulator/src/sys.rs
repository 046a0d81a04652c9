//! Every system call of the emulator, and all of its unsafe code: the standard library has no namespaces, TUN devices, `ppoll`
//! or signal files, and no clock that can be told apart from the wall's. Each function checks its call and returns an error.
#![allow(unsafe_code, reason = "system calls that the standard library does not offer")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Nanoseconds of the monotonic clock.
pub fn now_nanos() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to. The call cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// End this process when the one that started it ends. Errors: it has ended already.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: no pointers are passed.
    let parent = unsafe { libc::getppid() };
    // SAFETY: no pointers are passed.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as libc::c_ulong) })?;
    // SAFETY: no pointers are passed.
    if unsafe { libc::getppid() } != parent {
        return Err(io::Error::other("the parent process has ended"));
    }
    Ok(())
}

/// Wake up as exactly as the timer allows: the default slack is 50 µs.
pub fn set_least_timer_slack() -> io::Result<()> {
    // SAFETY: no pointers are passed.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) })
}

/// How this process runs before every ordinary one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealTime {
    /// SCHED_DEADLINE: also before the kernel's servers for starved ordinary processes.
    Deadline,
    /// SCHED_FIFO: those servers may take up to 50 ms of every second (Linux 6.12 and later).
    Fifo,
}

impl RealTime {
    /// The kernel's name.
    pub fn name(self) -> &'static str {
        match self {
            RealTime::Deadline => "SCHED_DEADLINE",
            RealTime::Fifo => "SCHED_FIFO",
        }
    }
}

/// Half of a core in every 10 ms is reserved, and what nobody else has reserved may be used beyond it.
const RESERVED_NANOS: u64 = 5_000_000;
const PERIOD_NANOS: u64 = 10_000_000;

/// Run before every ordinary process: by a reservation if the kernel grants one, else by priority. Errors: neither is allowed.
pub fn set_realtime() -> io::Result<RealTime> {
    if set_deadline().is_ok() {
        return Ok(RealTime::Deadline);
    }
    let parameters = libc::sched_param { sched_priority: 10 };
    // SAFETY: `parameters` outlives the call.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) })?;
    Ok(RealTime::Fifo)
}

/// sched_setattr(2). Errors: no rights, or more than the kernel's share for reservations is taken.
fn set_deadline() -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    const SCHED_FLAG_RECLAIM: u64 = 2;
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_DEADLINE as u32,
        flags: SCHED_FLAG_RECLAIM,
        nice: 0,
        priority: 0,
        runtime: RESERVED_NANOS,
        deadline: PERIOD_NANOS,
        period: PERIOD_NANOS,
    };
    // SAFETY: `attributes` has the layout of the kernel's struct sched_attr (version 0), says its size, and outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) };
    check(result as libc::c_int)
}

/// A file that becomes readable when SIGTERM, SIGINT or SIGHUP arrives; they no longer end the process by themselves.
pub fn termination_signals() -> io::Result<OwnedFd> {
    // SAFETY: `set` is initialised by sigemptyset before its use, and outlives the calls. The file is new and ours.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(&mut set, signal);
        }
        check(libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()))?;
        let file = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        check(file)?;
        Ok(OwnedFd::from_raw_fd(file))
    }
}

/// Whether standard input is a pipe or socket whose other end may be closed.
pub fn stdin_is_pipe() -> bool {
    // SAFETY: `status` is a valid place to write to.
    let status = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        if libc::fstat(libc::STDIN_FILENO, &mut status) != 0 {
            return false;
        }
        status
    };
    matches!(status.st_mode & libc::S_IFMT, libc::S_IFIFO | libc::S_IFSOCK)
}

/// Files to wait for.
pub struct PollSet(Vec<libc::pollfd>);

impl PollSet {
    /// Wait until one of `files` can be read.
    pub fn new(files: impl IntoIterator<Item = RawFd>) -> PollSet {
        PollSet(files.into_iter().map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect())
    }

    /// Wait for input, for at most `nanos` (`None`: for ever). How many files are ready.
    pub fn wait(&mut self, nanos: Option<u64>) -> io::Result<usize> {
        let timeout = nanos.map(|n| libc::timespec {
            tv_sec: (n / 1_000_000_000) as libc::time_t,
            tv_nsec: (n % 1_000_000_000) as libc::c_long,
        });
        let timeout = timeout.as_ref().map_or(std::ptr::null(), |t| t as *const libc::timespec);
        // SAFETY: the pointer and the count belong to one vector; `timeout` is null or points to a value that outlives the call.
        let ready =
            unsafe { libc::ppoll(self.0.as_mut_ptr(), self.0.len() as libc::nfds_t, timeout, std::ptr::null()) };
        match check(ready) {
            Ok(()) => Ok(ready as usize),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Whether file `index` was ready at the last wait (or has been closed by its other end).
    pub fn is_ready(&self, index: usize) -> bool {
        self.0[index].revents != 0
    }
}

/// The network namespace of this thread.
pub fn own_namespace() -> io::Result<File> {
    File::open("/proc/thread-self/ns/net")
}

/// Enter a network namespace, with this thread only.
pub fn enter_namespace(namespace: &File) -> io::Result<()> {
    // SAFETY: no pointers are passed; the file is open.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })
}

/// Make a TUN device in this thread's namespace. It lasts as long as the file is open.
pub fn open_tun(name: &str) -> io::Result<File> {
    let file = File::options().read(true).write(true).open("/dev/net/tun")?;
    let mut request = request_for(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request is a valid ifreq that outlives the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &request) })?;
    // SAFETY: no pointers are passed; the file is open.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) })?;
    Ok(file)
}

/// Settings of the devices of this thread's namespace.
pub struct DeviceSettings(OwnedFd);

impl DeviceSettings {
    /// A socket to make them through.
    pub fn new() -> io::Result<DeviceSettings> {
        // SAFETY: no pointers are passed; the descriptor is checked, new and ours.
        unsafe {
            let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
            check(socket)?;
            Ok(DeviceSettings(OwnedFd::from_raw_fd(socket)))
        }
    }

    /// Largest packet.
    pub fn set_mtu(&self, device: &str, mtu: u32) -> io::Result<()> {
        let mut request = request_for(device);
        request.ifr_ifru.ifru_mtu = mtu as libc::c_int;
        self.call(libc::SIOCSIFMTU, &mut request)
    }

    /// Address of this end and of the other one.
    pub fn set_point_to_point(&self, device: &str, own: Ipv4Addr, peer: Ipv4Addr) -> io::Result<()> {
        let mut request = request_for(device);
        request.ifr_ifru.ifru_addr = socket_address(own);
        self.call(libc::SIOCSIFADDR, &mut request)?;
        request.ifr_ifru.ifru_addr = socket_address(peer);
        self.call(libc::SIOCSIFDSTADDR, &mut request)
    }

    /// Switch the device on.
    pub fn bring_up(&self, device: &str) -> io::Result<()> {
        let mut request = request_for(device);
        self.call(libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: the call above has filled in the flags.
        unsafe { request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short };
        self.call(libc::SIOCSIFFLAGS, &mut request)
    }

    fn call(&self, number: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: the request is a valid ifreq that outlives the call; all calls above take one.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), number as _, request as *mut libc::ifreq) })
    }
}

/// Packets that a device of this thread's namespace keeps before it drops. By netlink: the ioctl for it asks for rights over the
/// whole machine, also inside a user namespace.
pub fn set_transmit_queue(device: &str, packets: u32) -> io::Result<()> {
    // SAFETY: no pointers are passed; the descriptor is checked, new and ours.
    let socket = unsafe {
        let socket = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE);
        check(socket)?;
        File::from(OwnedFd::from_raw_fd(socket))
    };
    (&socket).write_all(&set_link_message(device, packets))?;
    let mut answer = [0u8; 4096];
    let length = (&socket).read(&mut answer)?;
    // After the header of 16 bytes comes the error number, negative, or zero.
    match answer[..length].get(16..20).map(|bytes| i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::Error::other("netlink gave no answer")),
    }
}

/// RTM_NEWLINK with the device's name and queue length (rtnetlink(7)).
fn set_link_message(device: &str, packets: u32) -> Vec<u8> {
    fn attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
        message.extend((4 + value.len() as u16).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(value);
        message.resize(message.len().next_multiple_of(4), 0);
    }
    // nlmsghdr: length (filled in below), type, flags, sequence, port; then an ifinfomsg of zeros: any family, by name.
    let mut message = vec![0; 4];
    message.extend(libc::RTM_NEWLINK.to_ne_bytes());
    message.extend(((libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
    message.resize(32, 0);
    let name: Vec<u8> = device.bytes().chain([0]).collect();
    attribute(&mut message, libc::IFLA_IFNAME, &name);
    attribute(&mut message, libc::IFLA_TXQLEN, &packets.to_ne_bytes());
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message
}

fn request_for(device: &str) -> libc::ifreq {
    // SAFETY: all zeros is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // One byte stays zero: the name ends there.
    for (place, byte) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(device.bytes()) {
        *place = byte as libc::c_char;
    }
    request
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    let in_address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr { s_addr: u32::from(address).to_be() },
        sin_zero: [0; 8],
    };
    // SAFETY: both have 16 bytes, and the kernel reads a sockaddr by its family.
    unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(in_address) }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
