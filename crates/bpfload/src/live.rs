//! Finds the controls registered on this machine, whichever process loaded them, and reads and sets their maps.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{MemberAttr, Struct};
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, ProgramType};

use playpath_cc::kernel::{Block, Law, SLOTS};
use serde_json::{Map, Value, json};

use crate::controls;
use crate::load::NAME_SIZE;
use crate::socket::Socket;

/// One registered congestion control of ours.
pub struct Registered {
    pub name: String,
    pub control: &'static Law,
    /// Id of the BPF link that holds the registration, if one does (a deleted link may linger while sockets use it).
    pub link_id: Option<u32>,
    defaults: MapHandle,
    params: Option<MapHandle>,
    sockets: Option<MapHandle>,
    status: Option<MapHandle>,
}

/// Errors of reading or changing registered controls.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Not root.
    #[error("only root (CAP_SYS_ADMIN) sees which controls are registered")]
    NoRights,
    /// No /proc.
    #[error("/proc/self/status: {0}")]
    Status(#[source] std::io::Error),
    /// No control of this name is registered.
    #[error("no control `{name}` is registered; {}", match registered.as_slice() {
        [] => "none is".into(),
        names => format!("registered: {}", names.join(", ")),
    })]
    NotRegistered { name: String, registered: Vec<String> },
    /// The kernel's type information is not available.
    #[error("cannot read the kernel's BTF: {0}")]
    Btf(#[source] libbpf_rs::Error),
    /// A map of a control that is going away, or no rights to it.
    #[error("{0}")]
    Map(#[from] libbpf_rs::Error),
    /// A map without its one element.
    #[error("the defaults map is empty")]
    Empty,
    /// A control without this map.
    #[error("this control takes no parameters")]
    NoParameters,
    /// The kernel does not take the socket.
    #[error("cannot write into the socket: {0}")]
    Socket(#[source] libbpf_rs::Error),
}

/// All registered controls of ours, by name.
pub fn registered() -> Result<Vec<Registered>, LiveError> {
    check_rights()?;
    let links = links_by_name()?;
    let mut found: BTreeMap<u32, Registered> = BTreeMap::new();
    for ids in map_ids_of_struct_ops_programs() {
        let mut defaults = None;
        let mut params = None;
        let mut sockets = None;
        let mut status = None;
        for id in ids {
            // A map can go away between the listing and the look; then it is not registered any more.
            let Ok(map) = MapHandle::from_map_id(id) else { continue };
            let name = map.name().to_owned();
            if name == OsStr::new("pp_defaults") {
                defaults = Some((id, map));
            } else if name == OsStr::new("pp_params") {
                params = Some(map);
            } else if name == OsStr::new("pp_socket") {
                sockets = Some(map);
            } else if name == OsStr::new("pp_status") {
                status = Some(map);
            }
        }
        let Some((id, defaults)) = defaults else { continue };
        let Some(name) = owner_of(&defaults) else { continue };
        let Some(control) = controls::of_registered(&name) else { continue };
        let link_id = links.get(&name).copied();
        let entry = found.entry(id).or_insert(Registered {
            name,
            control,
            link_id,
            defaults,
            params: None,
            sockets: None,
            status: None,
        });
        entry.params = params.or(entry.params.take());
        entry.sockets = sockets.or(entry.sockets.take());
        entry.status = status.or(entry.status.take());
    }
    // Maps of an unloaded control linger until its last socket closes. Ids only rise: the newest of a name is the one in use.
    let newest: BTreeMap<String, Registered> = found.into_values().map(|r| (r.name.clone(), r)).collect();
    Ok(newest.into_values().collect())
}

/// Check that this process may see registered controls. Without CAP_SYS_ADMIN the kernel hides other processes' programs, and there would
/// seem to be none.
fn check_rights() -> Result<(), LiveError> {
    const CAP_SYS_ADMIN: u64 = 1 << 21;
    let status = std::fs::read_to_string("/proc/self/status").map_err(LiveError::Status)?;
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let has = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or_default();
    if has & CAP_SYS_ADMIN == 0 {
        return Err(LiveError::NoRights);
    }
    Ok(())
}

pub fn find(name: &str) -> Result<Registered, LiveError> {
    let mut all = registered()?;
    match all.iter().position(|r| r.name == name) {
        Some(i) => Ok(all.swap_remove(i)),
        None => {
            Err(LiveError::NotRegistered { name: name.into(), registered: all.into_iter().map(|r| r.name).collect() })
        }
    }
}

impl Registered {
    /// Parameters of connections that have none of their own.
    pub fn defaults(&self) -> Result<Block, LiveError> {
        let value = self.defaults.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)?;
        Ok(block(&value.ok_or(LiveError::Empty)?[NAME_SIZE..]))
    }

    /// Set the defaults. Live connections take them within a round trip.
    pub fn set_defaults(&self, params: &Block) -> Result<(), LiveError> {
        let key = 0u32.to_ne_bytes();
        let mut value = self.defaults.lookup(&key, MapFlags::ANY)?.ok_or(LiveError::Empty)?;
        value.truncate(NAME_SIZE);
        value.extend(params.iter().flat_map(|v| v.to_ne_bytes()));
        Ok(self.defaults.update(&key, &value, MapFlags::ANY)?)
    }

    /// Parameters of the connection to `peer`; the defaults if it has none of its own.
    pub fn params_of(&self, peer: SocketAddr) -> Result<Block, LiveError> {
        let map = self.params.as_ref().ok_or(LiveError::NoParameters)?;
        match map.lookup(&key_of(peer), MapFlags::ANY)? {
            Some(value) => Ok(block(&value)),
            None => self.defaults(),
        }
    }

    /// Give the connection to `peer` parameters of its own.
    pub fn set_params_of(&self, peer: SocketAddr, params: &Block) -> Result<(), LiveError> {
        let map = self.params.as_ref().ok_or(LiveError::NoParameters)?;
        let value: Vec<u8> = params.iter().flat_map(|v| v.to_ne_bytes()).collect();
        Ok(map.update(&key_of(peer), &value, MapFlags::ANY)?)
    }

    /// Parameters of a socket: its own, else those of its peer.
    pub fn params_of_socket(&self, socket: &Socket) -> Result<Block, LiveError> {
        let map = self.sockets.as_ref().ok_or(LiveError::NoParameters)?;
        match map.lookup(&socket.key(), MapFlags::ANY) {
            Ok(Some(value)) => Ok(block(&value)),
            _ => self.params_of(socket.peer),
        }
    }

    /// Attach parameters to a live socket. They take precedence over its peer's, and last as long as the socket.
    pub fn set_params_of_socket(&self, socket: &Socket, params: &Block) -> Result<(), LiveError> {
        let map = self.sockets.as_ref().ok_or(LiveError::NoParameters)?;
        let value: Vec<u8> = params.iter().flat_map(|v| v.to_ne_bytes()).collect();
        map.update(&socket.key(), &value, MapFlags::ANY).map_err(LiveError::Socket)
    }

    pub fn connections(&self) -> Vec<(SocketAddr, Value)> {
        let Some(map) = &self.status else { return Vec::new() };
        map.keys()
            .filter_map(|key| {
                let value = map.lookup(&key, MapFlags::ANY).ok()??;
                self.connection(&key, &value)
            })
            .collect()
    }

    /// Decode a `pp_key` and a `pp_status_record` (bpf/glue.bpf.h): the peer, and what `playpath-bpf show` prints. `netns` is an inode
    /// number, `time_ns` the record's CLOCK_MONOTONIC, windows are in packets, the pacing rate in bytes per second or null if there is none,
    /// the token of plain TCP is 0.
    fn connection(&self, key: &[u8], value: &[u8]) -> Option<(SocketAddr, Value)> {
        const DETAILS: usize = 40;
        const PARAMS: usize = DETAILS + 8 * 8;
        const FROM: usize = PARAMS + SLOTS * 4;
        if key.len() != 24 || value.len() != FROM + 8 {
            return None;
        }
        let v6: [u8; 16] = key[..16].try_into().ok()?;
        let ip = if v6[4..].iter().all(|b| *b == 0) {
            IpAddr::V4(Ipv4Addr::new(v6[0], v6[1], v6[2], v6[3]))
        } else {
            IpAddr::V6(Ipv6Addr::from(v6))
        };
        let port_at = |at: usize| u16::from_ne_bytes([key[at], key[at + 1]]);
        let peer = SocketAddr::new(ip, port_at(16));
        let rate = u64_at(value, 8);
        let params = block(&value[PARAMS..]);
        let details = self.control.details.iter().enumerate();
        let details = details.map(|(i, name)| ((*name).into(), (u64_at(value, DETAILS + i * 8) as i64).into()));
        let slots = self.control.slots();
        let params = slots.map(|slot| (slot.spec.name.into(), controls::json(slot.decode(&params))));
        let from = ["control", "peer", "socket"].get(u32_at(value, FROM) as usize);
        Some((
            peer,
            json!({
                "cc": self.name, "peer": peer.to_string(), "local_port": port_at(18), "netns": u32_at(key, 20),
                "time_ns": u64_at(value, 0), "snd_cwnd": u32_at(value, 16), "snd_ssthresh": u32_at(value, 20),
                "in_flight": u32_at(value, 24), "rtt_us": u32_at(value, 28),
                "pacing_rate": (rate != u64::MAX).then_some(rate),
                "phase": self.control.phases.get(u32_at(value, 32) as usize).unwrap_or(&"unknown"),
                "mptcp_token": u32_at(value, 36), "details": details.collect::<Map<_, _>>(),
                "params": params.collect::<Map<_, _>>(), "params_from": from.unwrap_or(&"unknown"),
            }),
        ))
    }
}

fn map_ids_of_struct_ops_programs() -> impl Iterator<Item = Vec<u32>> {
    ProgInfoIter::with_query_opts(ProgInfoQueryOptions::default().include_map_ids(true))
        .filter(|p| p.ty == ProgramType::StructOps)
        .map(|p| p.map_ids)
}

/// Registered name to link id, for links whose struct_ops is a TCP congestion control.
fn links_by_name() -> Result<BTreeMap<String, u32>, LiveError> {
    let Some(offset) = kernel_name_offset()? else { return Ok(BTreeMap::new()) };
    let mut links = BTreeMap::new();
    for link in LinkInfoIter::default() {
        let LinkTypeInfo::StructOps(info) = &link.info else { continue };
        let Ok(map) = MapHandle::from_map_id(info.map_id) else { continue };
        let Ok(Some(value)) = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY) else { continue };
        if map.map_type() == MapType::StructOps && value.len() >= offset + NAME_SIZE {
            links.insert(text(&value[offset..offset + NAME_SIZE]), link.id);
        }
    }
    Ok(links)
}

/// Offset of the name in the value of a struct_ops map of this kernel.
fn kernel_name_offset() -> Result<Option<usize>, LiveError> {
    let btf = Btf::from_vmlinux().map_err(LiveError::Btf)?;
    let offset_in = |outer: &str, member: &str| -> Option<usize> {
        let ty: Struct<'_> = btf.type_by_name(outer)?;
        let member = ty.iter().find(|m| m.name == Some(OsStr::new(member)))?;
        match member.attr {
            MemberAttr::Normal { offset } => Some(offset as usize / 8),
            MemberAttr::BitField { .. } => None,
        }
    };
    let data = offset_in("bpf_struct_ops_tcp_congestion_ops", "data");
    let name = offset_in("tcp_congestion_ops", "name");
    Ok(data.zip(name).map(|(d, n)| d + n))
}

fn owner_of(defaults: &MapHandle) -> Option<String> {
    let value = defaults.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()??;
    Some(text(value.get(..NAME_SIZE)?)).filter(|name| !name.is_empty())
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn block(bytes: &[u8]) -> Block {
    std::array::from_fn(|i| u32_at(bytes, i * 4))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// `struct pp_key` of a peer: address, port, and zeros for local port and namespace.
fn key_of(peer: SocketAddr) -> Vec<u8> {
    let mut key = vec![0; 24];
    match peer.ip().to_canonical() {
        IpAddr::V4(a) => key[..4].copy_from_slice(&a.octets()),
        IpAddr::V6(a) => key[..16].copy_from_slice(&a.octets()),
    }
    key[16..18].copy_from_slice(&peer.port().to_ne_bytes());
    key
}
