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
    let bytes = OBJECTS.iter().find(|(name, _)| *name == control.name).expect("every control has an object").1;
    load_object(bytes, control, registered, params)
}

fn load_object(bytes: &[u8], control: &Control, registered: &str, params: &[u32; SLOTS]) -> Result<Loaded, String> {
    if let Ok(mut words) = WORDS.lock() {
        words.clear();
    }
    libbpf_rs::set_print(Some((PrintLevel::Info, keep_words)));
    register(bytes, control, registered, params).map_err(|e| {
        let words = WORDS.lock().map(|w| w.clone()).unwrap_or_default();
        told(control, &e, &words)
    })
}

/// One line where the reason is known; what libbpf said where it is not.
fn told(control: &Control, error: &libbpf_rs::Error, words: &str) -> String {
    if words.contains("BEGIN PROG LOAD LOG") {
        return format!("the kernel's verifier refused {}; its last words:{}", control.name, tail(words));
    }
    let name = control.name;
    match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => {
            format!("cannot load {name}: {error}; loading needs root (CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON)")
        }
        libbpf_rs::ErrorKind::AlreadyExists => format!(
            "cannot load {name}: a control of this name is registered (`playpath-bpf list`); unload it, or load under \
             NAME.SUFFIX (--as)"
        ),
        libbpf_rs::ErrorKind::NotFound => {
            format!(
                "cannot load {name}: {error}; the kernel needs BTF (CONFIG_DEBUG_INFO_BTF) and CONFIG_BPF_JIT{}",
                tail(words)
            )
        }
        _ => format!("cannot load {name}: {error}{}", tail(words)),
    }
}

/// Whether `control` can be registered under this name.
pub fn check_name(control: &Control, registered: &str) -> Result<(), String> {
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

fn register(
    bytes: &[u8],
    control: &Control,
    registered: &str,
    params: &[u32; SLOTS],
) -> Result<Loaded, libbpf_rs::Error> {
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

/// The last lines: the verifier puts its verdict at the end.
fn tail(words: &str) -> String {
    let lines: Vec<&str> = words.lines().collect();
    let from = lines.len().saturating_sub(25);
    lines[from..].iter().map(|l| format!("\n  {}", l.chars().take(160).collect::<String>())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{controls, live};

    /// The program's ends become jumps to themselves: no verifier accepts a program that cannot end.
    fn without_an_end(object: &[u8]) -> Vec<u8> {
        const EXIT: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];
        const JUMP_TO_ITSELF: [u8; 8] = [0x05, 0, 0xff, 0xff, 0, 0, 0, 0];
        let mut bytes = object.to_vec();
        for place in (0..bytes.len() - 8).step_by(8) {
            if bytes[place..place + 8] == EXIT {
                bytes[place..place + 8].copy_from_slice(&JUMP_TO_ITSELF);
            }
        }
        bytes
    }

    #[test]
    fn the_verifiers_words_are_shown() {
        if let Err(reason) = live::check_rights() {
            eprintln!("skipped: {reason}");
            return;
        }
        let vegas = controls::find("vegas").unwrap();
        let (_, object) = OBJECTS.iter().find(|(name, _)| *name == "vegas").unwrap();
        let Err(said) = load_object(&without_an_end(object), vegas, "vegas.endless", &vegas.defaults()) else {
            panic!("a program without an end was loaded");
        };
        assert!(said.starts_with("the kernel's verifier refused vegas; its last words:\n"), "{said}");
        assert!(said.contains("infinite loop detected") || said.contains("back-edge"), "{said}");
    }

    #[test]
    fn a_name_is_the_controls_or_has_a_suffix() {
        let ccplb = controls::find("ccplb").unwrap();
        for good in ["ccplb", "ccplb.a1"] {
            assert!(check_name(ccplb, good).is_ok(), "{good}");
        }
        // Another control's, too long for the kernel (15 characters), a character that it does not take.
        for bad in ["cubic", "ccplb.0123456789", "ccplb.a b"] {
            assert!(check_name(ccplb, bad).unwrap_err().contains("cannot be registered"), "{bad}");
        }
    }
}
