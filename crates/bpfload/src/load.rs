//! Registering a control: open, rename, load, attach.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Mutex;

use libbpf_rs::{Link, MapCore, MapFlags, MapType, Object, ObjectBuilder, PrintLevel};

use crate::controls::{Control, SLOTS};
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

/// What libbpf said since the last load; the verifier's log is part of it.
static WORDS: Mutex<String> = Mutex::new(String::new());

fn keep_words(_level: PrintLevel, message: String) {
    if let Ok(mut words) = WORDS.lock() {
        words.push_str(&message);
    }
}

/// Register `control` as `registered` with `params` as the default of its connections.
/// Errors carry the verifier's words.
pub fn load(control: &Control, registered: &str, params: &[u32; SLOTS]) -> Result<Loaded, String> {
    check_name(control, registered)?;
    if let Ok(mut words) = WORDS.lock() {
        words.clear();
    }
    libbpf_rs::set_print(Some((PrintLevel::Info, keep_words)));
    let result = register(control, registered, params);
    result.map_err(|e| {
        let words = WORDS.lock().map(|w| w.clone()).unwrap_or_default();
        if words.contains("BEGIN PROG LOAD LOG") {
            return format!("the kernel's verifier refused {}; its last words:{}", control.name, tail(&words));
        }
        format!("cannot load {}: {e}{}{}", control.name, remedy(&e), tail(&words))
    })
}

fn check_name(control: &Control, registered: &str) -> Result<(), String> {
    let base = registered.split('.').next().unwrap_or_default();
    let is_plain = registered.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if base != control.name || !is_plain || registered.len() >= NAME_SIZE {
        return Err(format!(
            "`{registered}` cannot be registered; a name is `{0}` or `{0}.SUFFIX`, letters and digits, under {NAME_SIZE} characters",
            control.name
        ));
    }
    Ok(())
}

fn register(control: &Control, registered: &str, params: &[u32; SLOTS]) -> Result<Loaded, libbpf_rs::Error> {
    let bytes = OBJECTS.iter().find(|(name, _)| *name == control.name).expect("every control has an object").1;
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
    pub fn pin(&mut self, registered: &str) -> Result<PathBuf, String> {
        let path = PathBuf::from(PIN_FOLDER).join(registered);
        std::fs::create_dir_all(PIN_FOLDER).map_err(|e| {
            format!("cannot pin in {PIN_FOLDER}: {e}; mount it (mount -t bpf bpf /sys/fs/bpf) or use --hold")
        })?;
        self.link.pin(&path).map_err(|e| {
            format!("cannot pin {}: {e}; is a bpf file system mounted on /sys/fs/bpf? or use --hold", path.display())
        })?;
        Ok(path)
    }
}

fn padded(name: &str) -> [u8; NAME_SIZE] {
    let mut bytes = [0; NAME_SIZE];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes
}

fn remedy(error: &libbpf_rs::Error) -> &'static str {
    match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => "\nLoading needs root (CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON).",
        libbpf_rs::ErrorKind::AlreadyExists => {
            "\nA control of this name is registered: `playpath-bpf list`; unload it or load under NAME.SUFFIX (--as)."
        }
        libbpf_rs::ErrorKind::NotFound => "\nThe kernel needs BTF (CONFIG_DEBUG_INFO_BTF) and CONFIG_BPF_JIT.",
        _ => "",
    }
}

/// The last lines: the verifier puts its verdict at the end.
fn tail(words: &str) -> String {
    let lines: Vec<&str> = words.lines().collect();
    let from = lines.len().saturating_sub(25);
    lines[from..].iter().map(|l| format!("\n  {}", l.chars().take(160).collect::<String>())).collect()
}
