//! Registering a control: open, rename, load, attach.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Mutex;

use libbpf_rs::{Link, MapCore, MapFlags, MapType, Object, ObjectBuilder, PrintLevel};

use playpath_cc::kernel::{Block, Law};

use crate::controls::InputError;
use crate::objects::OBJECTS;

/// Where links of controls that outlive their loader are pinned.
pub const PIN_FOLDER: &str = "/sys/fs/bpf/playpath";
/// Bytes of a registered name, its terminating zero included (TCP_CA_NAME_MAX).
pub const NAME_SIZE: usize = 16;

/// A registered control. Dropping it unregisters the control unless it was pinned.
pub struct Loaded {
    link: Link,
    _object: Object,
}

/// Messages of libbpf since the last load, including the verifier's log.
static WORDS: Mutex<String> = Mutex::new(String::new());

fn keep_words(_level: PrintLevel, message: String) {
    if let Ok(mut words) = WORDS.lock() {
        words.push_str(&message);
    }
}

/// Why a control is not registered.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("the kernel's verifier refused {control}; its last words:{words}")]
    Verifier { control: &'static str, words: String },
    /// Not root.
    #[error("cannot load {control}: {source}; loading needs root (CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON)")]
    Rights { control: &'static str, source: libbpf_rs::Error },
    #[error(
        "cannot load {control}: a control of this name is registered (`playpath-bpf list`); unload it, or load under \
         NAME.SUFFIX (--as)"
    )]
    Taken { control: &'static str },
    #[error("cannot load {control}: {source}; the kernel needs BTF (CONFIG_DEBUG_INFO_BTF) and CONFIG_BPF_JIT{words}")]
    Kernel { control: &'static str, source: libbpf_rs::Error, words: String },
    #[error("cannot load {control}: {source}{words}")]
    Other { control: &'static str, source: libbpf_rs::Error, words: String },
    /// No file system to pin in.
    #[error("cannot pin in {PIN_FOLDER}: {0}; mount it (mount -t bpf bpf /sys/fs/bpf) or use --hold")]
    PinFolder(#[source] std::io::Error),
    #[error("cannot pin {}: {source}; is a bpf file system mounted on /sys/fs/bpf? or use --hold", path.display())]
    Pin { path: PathBuf, source: libbpf_rs::Error },
}

/// Register `control` as `registered` with `params` as the default of its connections.
/// Errors carry the verifier's words.
pub fn load(control: &Law, registered: &str, params: &Block) -> Result<Loaded, LoadError> {
    let bytes = OBJECTS.iter().find(|(name, _)| *name == control.name).expect("every control has an object").1;
    load_object(bytes, control, registered, params)
}

fn load_object(bytes: &[u8], control: &Law, registered: &str, params: &Block) -> Result<Loaded, LoadError> {
    if let Ok(mut words) = WORDS.lock() {
        words.clear();
    }
    libbpf_rs::set_print(Some((PrintLevel::Info, keep_words)));
    register(bytes, control, registered, params).map_err(|source| {
        let words = WORDS.lock().map(|w| w.clone()).unwrap_or_default();
        load_error(control.name, source, &words)
    })
}

fn load_error(control: &'static str, source: libbpf_rs::Error, words: &str) -> LoadError {
    if words.contains("BEGIN PROG LOAD LOG") {
        return LoadError::Verifier { control, words: tail(words) };
    }
    match source.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => LoadError::Rights { control, source },
        libbpf_rs::ErrorKind::AlreadyExists => LoadError::Taken { control },
        libbpf_rs::ErrorKind::NotFound => LoadError::Kernel { control, source, words: tail(words) },
        _ => LoadError::Other { control, source, words: tail(words) },
    }
}

/// Whether `control` can be registered under this name.
pub fn check_name(control: &Law, registered: &str) -> Result<(), InputError> {
    let base = registered.split('.').next().unwrap_or_default();
    let is_plain = registered.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if base != control.name || !is_plain || registered.len() >= NAME_SIZE {
        return Err(InputError::Name { registered: registered.into(), control: control.name });
    }
    Ok(())
}

fn register(bytes: &[u8], control: &Law, registered: &str, params: &Block) -> Result<Loaded, libbpf_rs::Error> {
    let mut open = ObjectBuilder::default().name(control.name)?.open_memory(bytes)?;
    for mut map in open.maps_mut() {
        if map.map_type() == MapType::StructOps {
            // `name` is the first member in bpf/kernel.h.
            let value = map.initial_value_mut().expect("struct_ops maps have an initial value");
            value[..NAME_SIZE].copy_from_slice(&padded(registered));
        }
    }
    let mut object = open.load()?;
    for map in object.maps_mut() {
        if map.name() == OsStr::new("pp_defaults") {
            let mut block = padded(registered).to_vec();
            block.extend(params.iter().flat_map(|v| v.to_ne_bytes()));
            map.update(&0u32.to_ne_bytes(), &block, MapFlags::ANY)?;
        }
    }
    let mut struct_ops = object
        .maps_mut()
        .find(|m| m.map_type() == MapType::StructOps)
        .expect("every control's object holds one struct_ops map");
    let link = struct_ops.attach_struct_ops()?;
    Ok(Loaded { link, _object: object })
}

impl Loaded {
    /// Keep the registration when this process ends, until it is unloaded.
    pub fn pin(&mut self, registered: &str) -> Result<PathBuf, LoadError> {
        let path = PathBuf::from(PIN_FOLDER).join(registered);
        std::fs::create_dir_all(PIN_FOLDER).map_err(LoadError::PinFolder)?;
        self.link.pin(&path).map_err(|source| LoadError::Pin { path: path.clone(), source })?;
        Ok(path)
    }
}

fn padded(name: &str) -> [u8; NAME_SIZE] {
    let mut bytes = [0; NAME_SIZE];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes
}

/// The last lines: the verifier puts its verdict at the end.
fn tail(words: &str) -> String {
    let lines: Vec<&str> = words.lines().collect();
    let from = lines.len().saturating_sub(25);
    lines[from..].iter().map(|l| format!("\n  {}", l.chars().take(160).collect::<String>())).collect()
}

#[cfg(test)]
mod tests;
