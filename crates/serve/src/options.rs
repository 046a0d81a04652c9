//! The command line.

use crate::quic;
use crate::quic::identity::Identity;
use crate::settings::{Limits, Settings, of_quic, of_tcp, sender};
use crate::store::Store;
use playpath_cc::AppParameters;
use playpath_scenario::SenderSpec;
use playpath_shell::clap;
use playpath_units::{Bytes, Duration, Rate};
use playpath_video::ServerPolicy;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::str::FromStr;

/// Serve a folder to stock clients with the simulator's own transports: TCP and MPTCP over a TUN device, with any congestion control
/// and any scheduler and without patching a kernel, or QUIC with HTTP/3 on a UDP socket, without root. `playpath serve --demo` makes a
/// film and serves it, with the same options. Exit status: 0 ended by a signal, 1 failed, 2 the input is wrong.
#[derive(clap::Parser)]
#[command(name = "playpath-serve", version)]
pub struct Arguments {
    /// The folder, or single file, to serve.
    #[arg(value_name = "FOLDER")]
    pub root: PathBuf,
    /// Also follow symbolic links that lead out of the folder.
    #[arg(long)]
    pub follow_links: bool,
    /// Transport of the responses.
    #[arg(long, value_enum, default_value = "tcp")]
    pub transport: Carrier,
    /// The device of TCP; made and set up if there is none of this name, which needs root [default: playpath0].
    #[arg(long, value_name = "NAME", value_parser = device_name)]
    pub tun: Option<String>,
    /// The server's address. For TCP in a network that the machine does not use otherwise (the kernel's end of the device gets the other
    /// address of its /31); may be repeated [default: 10.77.200.1]. For QUIC one of the machine's [default: 0.0.0.0, all].
    #[arg(long = "address", value_name = "ADDR")]
    pub addresses: Vec<IpAddr>,
    /// Port on which requests are answered [default: 8080; QUIC: 4433].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// TCP: use TLS (HTTP/1.1 by ALPN), as QUIC always does.
    #[arg(long)]
    pub tls: bool,
    /// With TLS, the certificate chain, in PEM form; by default a certificate is generated.
    #[arg(long, value_name = "FILE", requires = "key")]
    pub certificate: Option<PathBuf>,
    /// Its key, in PEM form.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub key: Option<PathBuf>,
    /// TCP: announce in every answer that another `serve` speaks HTTP/3 on this UDP port, at the client's name for this server or at
    /// HOST (Alt-Svc).
    #[arg(long, value_name = "[HOST:]PORT", value_parser = alternative)]
    pub alt_svc: Option<String>,
    /// With TLS, the name in the URL and in the generated certificate.
    #[arg(long, value_name = "NAME", default_value = "localhost", conflicts_with = "certificate", value_parser = host_name)]
    pub name: String,
    /// QUIC: validate the address of every client (Retry), not only while many connect at a time.
    #[arg(long)]
    pub retry: bool,
    /// Congestion control (`playpath list cc`), with its parameters.
    #[arg(long, value_name = "NAME[:K=V,…]")]
    pub cc: Option<String>,
    /// Scheduler, which chooses the path of each packet if there are several (`playpath list scheduler`).
    #[arg(long, value_name = "NAME[:K=V,…]")]
    pub scheduler: Option<String>,
    /// A `[[sender]]` of a resolved scenario as JSON, with everything that a scenario can say about a sender.
    #[arg(long, value_name = "FILE")]
    pub sender: Option<PathBuf>,
    /// Plain TCP only.
    #[arg(long)]
    pub no_mptcp: bool,
    /// With TLS, HTTP/1.1 only.
    #[arg(long)]
    pub no_http2: bool,
    /// Largest packet.
    #[arg(long, default_value = "1500", value_parser = clap::value_parser!(u32).range(MIN_MTU..=65_535))]
    pub mtu: u32,
    /// Maximum number of connections at a time.
    #[arg(long, default_value = "1024", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub max_connections: u32,
    /// Close a connection whose client has neither acknowledged nor sent anything for this long.
    #[arg(long, default_value = "60 s", value_name = "TIME", value_parser = within(Duration::from_secs(1), LONGEST_IDLE))]
    pub idle_timeout: Duration,
    /// File for a JSON line for each response that has arrived: when, to whom, what, how much, how long.
    #[arg(long, value_name = "FILE")]
    pub access_log: Option<PathBuf>,
    /// File written at the end: time series and counters of every path of every connection, as JSON.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// QUIC: folder for a qlog of each connection, which qvis can open.
    #[arg(long, value_name = "FOLDER")]
    pub qlog: Option<PathBuf>,
    /// Interval of those time series.
    #[arg(long, default_value = "50 ms", value_name = "TIME", value_parser = within(Duration::from_millis(1), Duration::from_secs(60)))]
    pub sample: Duration,
    /// Size of the playout buffer for the congestion control, if the player does not send it.
    #[arg(long, value_name = "SIZE", requires = "video_rate", value_parser = above_zero::<Bytes>)]
    pub playout_buffer: Option<Bytes>,
    /// Mean rate of the video for the congestion control, if the player does not send it.
    #[arg(long, value_name = "RATE", requires = "playout_buffer", value_parser = above_zero::<Rate>)]
    pub video_rate: Option<Rate>,
    /// Send players the server's throughput (etp) and RTT with each file, in the header CMSD-Dynamic.
    #[arg(long)]
    pub cmsd: bool,
    /// Also send this as the highest rate that a session should choose (mb).
    #[arg(long, value_name = "RATE", requires = "cmsd", value_parser = above_zero::<Rate>)]
    pub cmsd_mb: Option<Rate>,
    /// File for a JSON line for each report of a player (CMCD's event mode, POSTs of application/cmcd).
    #[arg(long, value_name = "FILE")]
    pub reports: Option<PathBuf>,
    /// Maximum size of an upload that is held for each connection.
    #[arg(long, default_value = "1 MiB", value_name = "SIZE", value_parser = within(Bytes(1 << 16), Bytes(1 << 26)))]
    pub receive_buffer: Bytes,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// TCP and MPTCP over a TUN device.
    Tcp,
    /// QUIC and HTTP/3 on a UDP socket.
    Quic,
}

impl Arguments {
    pub fn device(&self) -> &str {
        self.tun.as_deref().unwrap_or("playpath0")
    }

    /// What does not go together with the transport. Error: one line.
    fn check(&self) -> Result<(), String> {
        let of_tcp = [
            ("--tun", self.tun.is_some(), "QUIC needs no device"),
            ("--no-mptcp", self.no_mptcp, "QUIC does not use MPTCP"),
            ("--tls", self.tls, "QUIC always uses it"),
            ("--no-http2", self.no_http2, "QUIC always uses HTTP/3"),
            ("--alt-svc", self.alt_svc.is_some(), "it is only for TCP"),
        ];
        let of_quic = [
            ("--retry", self.retry, "it needs --transport quic"),
            ("--qlog", self.qlog.is_some(), "it needs --transport quic"),
        ];
        let is_quic = self.transport == Carrier::Quic;
        if is_quic && self.addresses.len() > 1 {
            return Err("--address: QUIC takes only one".into());
        }
        if is_quic && self.mtu < MIN_MTU_OF_QUIC {
            return Err(format!("--mtu {}: QUIC needs {MIN_MTU_OF_QUIC} or more", self.mtu));
        }
        let refused = if is_quic { &of_tcp[..] } else { &of_quic[..] };
        let wrong = refused.iter().find(|(_, is_given, _)| *is_given);
        wrong.map_or(Ok(()), |(option, _, why)| Err(format!("{option}: {why}")))
    }

    /// What the control gets to know of the video.
    pub fn app_parameters(&self) -> Option<AppParameters> {
        let (Bytes(playout_buffer_bytes), video_rate) = self.playout_buffer.zip(self.video_rate)?;
        Some(AppParameters { playout_buffer_bytes, video_rate, ..AppParameters::default() })
    }

    /// What players are told.
    pub fn policy(&self) -> Option<ServerPolicy> {
        self.cmsd.then_some(ServerPolicy { max_rate: self.cmsd_mb })
    }

    /// Who the server says it is, with TLS. Errors: one line.
    pub fn identity(&self) -> Result<Identity, String> {
        match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Identity::load(certificate, key),
            _ => Identity::made(std::slice::from_ref(&self.name)),
        }
    }

    pub fn store(&self) -> Result<Store, String> {
        let store = Store::open(&self.root).map_err(|error| format!("{}: {error}", self.root.display()))?;
        Ok(store.following_links(self.follow_links))
    }

    /// Settings of a server of TCP; with TLS, the fingerprint of its key too. Errors: one line.
    pub fn settings(&self) -> Result<(Settings, Option<String>), String> {
        self.check()?;
        let sender = self.sender(json!({}))?;
        let default = || vec![[10, 77, 200, 1].into()];
        let (tcp, has_tls) = of_tcp(&sender)?;
        let identity = (has_tls || self.tls).then(|| self.identity()).transpose()?;
        let of_tls = [
            ("--certificate", self.certificate.is_some()),
            ("--name", self.name != "localhost"),
            ("--no-http2", self.no_http2),
        ];
        if let Some((option, _)) = of_tls.iter().find(|(_, is_given)| *is_given && identity.is_none()) {
            return Err(format!("{option}: it needs --tls, or --transport quic"));
        }
        let spki = identity.as_ref().map(|identity| identity.spki.clone());
        let versions: &[&str] = if self.no_http2 { &["http/1.1"] } else { &["h2", "http/1.1"] };
        let tls = identity.map(|identity| identity.into_tls_for(versions)).transpose()?;
        let settings = Settings {
            tcp,
            tls: tls.map(|tls| tls.config),
            alt_svc: self.alt_svc.clone(),
            sender,
            addresses: if self.addresses.is_empty() { default() } else { self.addresses.clone() },
            port: self.port.unwrap_or(8080),
            mtu: self.mtu,
            limits: self.limits(),
            mptcp: !self.no_mptcp,
        };
        Ok((settings, spki))
    }

    /// Settings of a server of QUIC, and its address. Errors: one line.
    pub fn quic_settings(&self) -> Result<(quic::server::Settings, SocketAddr), String> {
        self.check()?;
        let sender = self.sender(json!({ "transport": "quic" }))?;
        let address = self.addresses.first().copied().unwrap_or([0, 0, 0, 0].into());
        let settings = quic::server::Settings {
            endpoint: of_quic(&sender)?,
            sender,
            largest_datagram: self.mtu - quic::server::HEADERS,
            limits: self.limits(),
        };
        Ok((settings, SocketAddr::new(address, self.port.unwrap_or(4433))))
    }

    fn sender(&self, default: Value) -> Result<SenderSpec, String> {
        let entry = self.sender.as_ref().map_or(Ok(default), read_json)?;
        sender(&entry, self.cc.as_deref(), self.scheduler.as_deref())
    }

    fn limits(&self) -> Limits {
        Limits {
            connections: self.max_connections as usize,
            half_open: (self.max_connections as usize / 4).max(1),
            half_open_unproven: if self.retry { 0 } else { (self.max_connections as usize / 8).max(1) },
            idle_timeout: self.idle_timeout,
            receive_buffer: self.receive_buffer.0,
            ..Limits::default()
        }
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

/// What stands in a URL, in a certificate and in a command without more ado.
fn host_name(text: &str) -> Result<String, String> {
    match ServerName::try_from(text) {
        Ok(ServerName::DnsName(_)) => Ok(text.into()),
        Ok(ServerName::IpAddress(address)) if IpAddr::from(address).is_ipv4() => Ok(text.into()),
        _ => Err("a host's name or IPv4 address".into()),
    }
}

/// "4433" or "media.test:4433", as the field Alt-Svc has it (RFC 7838 section 3).
fn alternative(text: &str) -> Result<String, String> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    match port.parse::<NonZeroU16>() {
        Ok(port) if host.is_empty() || host_name(host).is_ok() => Ok(format!("h3=\"{host}:{port}\"")),
        _ => Err("a port, or HOST:PORT".into()),
    }
}

/// The smallest `mss` of a scenario, and the headers of IPv4 and TCP.
const MIN_MTU: i64 = 88 + 40;

/// Datagrams of 1200 bytes (RFC 9000 section 14) in IPv6 and UDP.
const MIN_MTU_OF_QUIC: u32 = quic::server::MIN_INITIAL as u32 + quic::server::HEADERS;

/// Timestamps turn within half an hour of silence: nobody may idle so long (RFC 7323 section 5.5).
const LONGEST_IDLE: Duration = Duration::from_secs(1200);

fn above_zero<T>(text: &str) -> Result<T, String>
where
    T: FromStr<Err: Display> + Default + PartialOrd,
{
    let given: T = text.parse().map_err(|error: T::Err| error.to_string())?;
    if given > T::default() { Ok(given) } else { Err("more than zero".into()) }
}

fn within<T>(least: T, most: T) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr<Err: Display> + Display + PartialOrd + Copy + Send + Sync + 'static,
{
    move |text| {
        let given: T = text.parse().map_err(|error: T::Err| error.to_string())?;
        if (least..=most).contains(&given) { Ok(given) } else { Err(format!("from {least} to {most}")) }
    }
}

#[cfg(test)]
mod tests;
