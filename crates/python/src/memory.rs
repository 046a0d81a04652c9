//! The machine's memory, so that a run that grows without end is stopped before the machine stalls.

use playpath_sim::Progress;
use std::fs::read_to_string;
use std::sync::OnceLock;

/// The memory of this process when a run began.
pub struct Memory {
    mapped: u64,
    resident: u64,
}

impl Memory {
    /// `None` where there is no /proc.
    pub fn now() -> Option<Memory> {
        let statm = read_to_string("/proc/self/statm").ok()?;
        let mut sizes = statm.split(' ').map(|pages| pages.parse::<u64>().map_or(0, |pages| pages * page_bytes()));
        Some(Memory { mapped: sizes.next()?, resident: sizes.next()? })
    }

    /// Error: as much was taken since as is left.
    pub fn check(&self, progress: Progress) -> Result<(), String> {
        let Some(scarce) = self.scarce() else { return Ok(()) };
        let gigabytes = |bytes: u64| bytes as f64 * 1e-9;
        Err(format!(
            "out of memory at {} of {}, after {:.0e} events: {:.1} GB are in use and {:.1} of {:.1} GB are left; ask for less (queues, \
             flows, time series, fewer jobs at once)",
            progress.now,
            progress.expected_end,
            progress.events as f64,
            gigabytes(scarce.taken),
            gigabytes(scarce.free),
            gigabytes(scarce.total)
        ))
    }

    fn scarce(&self) -> Option<Store> {
        let now = Memory::now()?;
        let resident = now.resident.saturating_sub(self.resident);
        let machine = machine().map(|(total, free)| Store { total, free, taken: resident });
        let group = group().map(|(total, held)| Store { total, free: total.saturating_sub(held), taken: resident });
        let total = address_space();
        let taken = now.mapped.saturating_sub(self.mapped);
        let space = Store { total, free: total.saturating_sub(now.mapped), taken };
        [machine, group, Some(space)].into_iter().flatten().find(Store::is_scarce)
    }
}

/// Bytes in all, left, and taken by the run.
struct Store {
    total: u64,
    free: u64,
    taken: u64,
}

impl Store {
    /// A list that is full doubles: the run ends while that is possible. One that takes little is not blamed for what others have.
    fn is_scarce(&self) -> bool {
        self.free < self.taken
    }
}

fn machine() -> Option<(u64, u64)> {
    let text = read_to_string("/proc/meminfo").ok()?;
    Some((kilobytes(&text, "MemTotal:")?, kilobytes(&text, "MemAvailable:")?))
}

fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|number| number * 1024)
}

/// Limit and use of the container's control group, bytes.
fn group() -> Option<(u64, u64)> {
    let number = |name: &str| read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse().ok();
    Some((number("memory.max")?, number("memory.current")?))
}

/// `ulimit -v`.
fn address_space() -> u64 {
    static LIMIT: OnceLock<u64> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let limits = read_to_string("/proc/self/limits").unwrap_or_default();
        let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(u64::MAX)
    })
}

/// Page size, bytes, derived from this process's memory use as the kernel reports it in both units.
fn page_bytes() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let smaps = read_to_string("/proc/self/smaps").unwrap_or_default();
        kilobytes(&smaps, "KernelPageSize:").unwrap_or(4096)
    })
}
