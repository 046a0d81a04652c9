//! The C header of the laws' parameter blocks, `bpf/law_params.h`, is made of the registry. It is checked in, so that the laws can
//! be read and compiled without Rust; this test says when it is old, and with `UPDATE=1` in the environment writes it anew.

use playpath_cc::ParamValue;
use playpath_cc::kernel::{Law, SLOTS, Slot, laws};
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Parameter blocks of the laws: slots, steps per unit, bounds in steps. Generated from the registry of crates/cc, of which the
 * loader and the test of the laws are made, too; do not edit: UPDATE=1 cargo test -p playpath-cc --test law_header
 */
#ifndef PLAYPATH_LAW_PARAMS_H
#define PLAYPATH_LAW_PARAMS_H

";

#[test]
fn the_header_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf/law_params.h");
    let header = header();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &header).expect("bpf/ is writable");
    }
    let checked_in = std::fs::read_to_string(&path).expect("bpf/ stands beside crates/");
    assert!(checked_in == header, "bpf/law_params.h is old: UPDATE=1 cargo test -p playpath-cc --test law_header");
}

fn header() -> String {
    let mut families: Vec<(&str, Vec<&Law>)> = Vec::new();
    for law in laws() {
        match families.iter_mut().find(|(family, _)| *family == law.family) {
            Some((_, members)) => members.push(law),
            None => families.push((law.family, vec![law])),
        }
    }
    families.sort_by_key(|(family, _)| *family);
    let mut text = format!("{HEAD}#define LAW_PARAM_SLOTS {SLOTS}\n");
    for (family, members) in families {
        write_family(&mut text, family, &members);
    }
    text + "\n#endif\n"
}

fn write_family(text: &mut String, family: &str, members: &[&Law]) {
    let mut slots: Vec<&Slot> = Vec::new();
    for slot in members.iter().flat_map(|law| law.slots()) {
        match slots.iter_mut().find(|known| known.index == slot.index) {
            // One member may have more words.
            Some(known) if known.spec.words() != slot.spec.words() => {
                let more = if known.spec.words().len() < slot.spec.words().len() { slot } else { *known };
                assert!(more.spec.words().starts_with(known.spec.words()), "{family}");
                assert!(
                    more.spec.words().starts_with(slot.spec.words()) && known.spec.name == slot.spec.name,
                    "{family}"
                );
                *known = more;
            }
            Some(known) => assert_eq!(format!("{known:?}"), format!("{slot:?}"), "one slot, two meanings in {family}"),
            None => slots.push(slot),
        }
    }
    slots.sort_by_key(|slot| slot.index);
    let names: Vec<_> = members.iter().map(|law| law.name).collect();
    write!(text, "\n/* {} */\n", names.join(", ")).expect("a String takes everything");
    for slot in slots {
        write_slot(text, &family.to_uppercase(), slot);
    }
}

fn write_slot(text: &mut String, family: &str, slot: &Slot) {
    let name = format!("{family}_{}", slot.spec.name.to_uppercase());
    let unit = if slot.spec.unit().is_empty() { String::new() } else { format!("{}: ", slot.spec.unit()) };
    writeln!(text, "#define {name} {} /* {unit}{} */", slot.index, slot.spec.doc).expect("a String takes everything");
    let words: Vec<(String, u32)> = match slot.spec.default {
        ParamValue::Number(_) => {
            let bound = |x| slot.encode(ParamValue::Number(x)).expect("the slot holds its bounds");
            let (low, high) = slot.spec.range();
            vec![("SCALE".into(), slot.scale), ("MIN".into(), bound(low)), ("MAX".into(), bound(high))]
        }
        ParamValue::Flag(_) => Vec::new(),
        ParamValue::Word(_) => slot.spec.words().iter().map(|word| word.to_uppercase()).zip(0..).collect(),
    };
    for (word, value) in words {
        writeln!(text, "#define {name}_{word} {value}U").expect("a String takes everything");
    }
}
