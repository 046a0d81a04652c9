//! The command line.

use crate::settings::{Limits, Settings, sender};
use playpath_cc::AppParameters;
use playpath_shell::clap;
use playpath_units::{Bytes, Duration, Rate};
use playpath_video::ServerPolicy;
use serde_json::{Value, json};
use std::net::IpAddr;
use std::path::PathBuf;

/// Serve a folder to stock clients with the simulator's own TCP and MPTCP, over a TUN device: any congestion control, any scheduler,
/// and no kernel to patch. Exit status: 0 ended by a signal, 1 failed, 2 the input is wrong.
#[derive(clap::Parser)]
#[command(name = "playpath-serve", version)]
pub struct Arguments {
    /// What is served: a folder, or one file.
    #[arg(value_name = "FOLDER")]
    pub root: PathBuf,
    /// The device; made and set up if there is none of this name, which needs root.
    #[arg(long, value_name = "NAME", default_value = "playpath0", value_parser = device_name)]
    pub tun: String,
    /// An own address, in a network that the machine has no other use for; may be repeated. The kernel's end of the device gets the
    /// other address of its /31.
    #[arg(long = "address", value_name = "ADDR", default_value = "10.77.200.1")]
    pub addresses: Vec<IpAddr>,
    /// Where requests are answered.
    #[arg(long, default_value = "8080", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// Congestion control (`playpath list cc`), with its parameters.
    #[arg(long, value_name = "NAME[:K=V,…]")]
    pub cc: Option<String>,
    /// Which path takes the next packet of an MPTCP connection (`playpath list scheduler`).
    #[arg(long, value_name = "NAME[:K=V,…]")]
    pub scheduler: Option<String>,
    /// A `[[sender]]` of a resolved scenario as JSON: everything that a scenario can say of a sender.
    #[arg(long, value_name = "FILE")]
    pub sender: Option<PathBuf>,
    /// Plain TCP only.
    #[arg(long)]
    pub no_mptcp: bool,
    /// Largest packet.
    #[arg(long, default_value = "1500", value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub mtu: u32,
    /// Connections at a time.
    #[arg(long, default_value = "1024", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub max_connections: u32,
    /// A client that neither takes nor sends anything is let go after so long.
    #[arg(long, default_value = "60 s", value_name = "TIME", value_parser = time)]
    pub idle_timeout: Duration,
    /// A JSON line for each answer that has arrived: when, to whom, what, how much, how long.
    #[arg(long, value_name = "FILE")]
    pub access_log: Option<PathBuf>,
    /// At the end: time series and counters of every path of every connection, as JSON.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Interval of those time series.
    #[arg(long, default_value = "50 ms", value_name = "TIME", value_parser = interval)]
    pub sample: Duration,
    /// What the congestion control is told of the video, where the player does not tell: size of the playout buffer.
    #[arg(long, value_name = "SIZE", requires = "video_rate")]
    pub playout_buffer: Option<Bytes>,
    /// And its mean rate.
    #[arg(long, value_name = "RATE", requires = "playout_buffer")]
    pub video_rate: Option<Rate>,
    /// Tell players of the server with each file, in the header CMSD-Dynamic: throughput (etp) and RTT.
    #[arg(long)]
    pub cmsd: bool,
    /// And this as the highest rate that a session should choose (mb).
    #[arg(long, value_name = "RATE", requires = "cmsd")]
    pub cmsd_mb: Option<Rate>,
    /// A JSON line for each report of a player (CMCD's event mode, POSTs of application/cmcd).
    #[arg(long, value_name = "FILE")]
    pub reports: Option<PathBuf>,
    /// Bytes of an upload held for each connection.
    #[arg(long, default_value = "1 MiB", value_name = "SIZE", value_parser = size)]
    pub receive_buffer: u64,
}

impl Arguments {
    /// What the control is told of the video.
    pub fn told(&self) -> Option<AppParameters> {
        let (Bytes(playout_buffer_bytes), video_rate) = self.playout_buffer.zip(self.video_rate)?;
        Some(AppParameters { playout_buffer_bytes, video_rate, ..AppParameters::default() })
    }

    /// What players are told.
    pub fn policy(&self) -> Option<ServerPolicy> {
        self.cmsd.then_some(ServerPolicy { max_rate: self.cmsd_mb })
    }

    /// What the server is told. Errors: one line.
    pub fn settings(&self) -> Result<Settings, String> {
        let entry = match &self.sender {
            None => json!({}),
            Some(file) => read_json(file)?,
        };
        let (sender, tcp) = sender(&entry, self.cc.as_deref(), self.scheduler.as_deref())?;
        let limits = Limits {
            connections: self.max_connections as usize,
            half_open: (self.max_connections as usize / 4).max(1),
            idle_timeout: self.idle_timeout,
            receive_buffer: self.receive_buffer,
            ..Limits::default()
        };
        Ok(Settings {
            sender,
            tcp,
            addresses: self.addresses.clone(),
            port: self.port,
            mtu: self.mtu,
            limits,
            mptcp: !self.no_mptcp,
        })
    }
}

fn read_json(file: &PathBuf) -> Result<Value, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: not JSON: {error}", file.display()))
}

/// As `/sys/class/net` allows it.
fn device_name(text: &str) -> Result<String, String> {
    let is_plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    if (1..=15).contains(&text.len()) && is_plain && text != "." && text != ".." {
        return Ok(text.into());
    }
    Err("a device's name has 1 to 15 letters and digits".into())
}

fn interval(text: &str) -> Result<Duration, String> {
    let (least, most) = (Duration::from_millis(1), Duration::from_secs(60));
    let time: Duration = text.parse().map_err(|e| format!("{e}"))?;
    if (least..=most).contains(&time) { Ok(time) } else { Err(format!("from {least} to {most}")) }
}

/// Timestamps turn within half an hour of silence: nobody may idle so long (RFC 7323 section 5.5).
fn time(text: &str) -> Result<Duration, String> {
    let (least, most) = (Duration::from_secs(1), Duration::from_secs(1200));
    let time: Duration = text.parse().map_err(|e| format!("{e}"))?;
    if (least..=most).contains(&time) { Ok(time) } else { Err(format!("from {least} to {most}")) }
}

fn size(text: &str) -> Result<u64, String> {
    let (least, most) = (1 << 16, 1 << 26);
    let Bytes(bytes) = text.parse().map_err(|e| format!("{e}"))?;
    if (least..=most).contains(&bytes) { Ok(bytes) } else { Err(format!("from {} to {}", Bytes(least), Bytes(most))) }
}
