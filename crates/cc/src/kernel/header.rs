//! The C header of the laws' parameter blocks, `law_params.h`: slots, steps per unit, bounds in steps. It is written
//! by the programs that compile the laws: the loader's build script, and the test of the laws.

use super::{Law, SLOTS, Slot, laws};
use crate::ParamValue;

pub fn header() -> String {
    let mut families: Vec<(&str, Vec<&Law>)> = Vec::new();
    for law in laws() {
        match families.iter_mut().find(|(family, _)| *family == law.family) {
            Some((_, members)) => members.push(law),
            None => families.push((law.family, vec![law])),
        }
    }
    families.sort_by_key(|(family, _)| *family);
    let families: String = families.iter().map(|(family, members)| family_text(family, members)).collect();
    format!("#pragma once\n#define LAW_PARAM_SLOTS {SLOTS}\n{families}")
}

fn family_text(family: &str, members: &[&Law]) -> String {
    let mut slots: Vec<&Slot> = Vec::new();
    for slot in members.iter().flat_map(|law| law.slots()) {
        match slots.iter_mut().find(|known| known.index == slot.index) {
            // One member may have more words.
            Some(known) if known.spec.words() != slot.spec.words() => {
                let (more, fewer) =
                    if known.spec.words().len() < slot.spec.words().len() { (slot, *known) } else { (*known, slot) };
                assert!(
                    more.spec.words().starts_with(fewer.spec.words()) && more.spec.name == fewer.spec.name,
                    "{family}"
                );
                *known = more;
            }
            Some(known) => assert_eq!(format!("{known:?}"), format!("{slot:?}"), "one slot, two meanings in {family}"),
            None => slots.push(slot),
        }
    }
    slots.iter().map(|slot| slot_text(&family.to_uppercase(), slot)).collect()
}

fn slot_text(family: &str, slot: &Slot) -> String {
    let name = format!("{family}_{}", slot.spec.name.to_uppercase());
    let words: Vec<(String, u32)> = match slot.spec.default {
        ParamValue::Number(_) => {
            let bound = |x| slot.encode(ParamValue::Number(x)).expect("the slot holds its bounds");
            let (low, high) = slot.spec.range();
            vec![("SCALE".into(), slot.scale), ("MIN".into(), bound(low)), ("MAX".into(), bound(high))]
        }
        ParamValue::Flag(_) => Vec::new(),
        ParamValue::Word(_) => slot.spec.words().iter().map(|word| word.to_uppercase()).zip(0..).collect(),
    };
    let words: String = words.iter().map(|(word, value)| format!("#define {name}_{word} {value}U\n")).collect();
    format!("#define {name} {}\n{words}", slot.index)
}
