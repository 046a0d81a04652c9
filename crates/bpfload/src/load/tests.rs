use super::*;
use crate::controls;

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
#[ignore = "only root loads a control: cargo test -- --include-ignored"]
fn the_verifiers_words_are_shown() {
    let vegas = controls::find("vegas").unwrap();
    let (_, object) = OBJECTS.iter().find(|(name, _)| *name == "vegas").unwrap();
    let Err(said) = load_object(&without_an_end(object), vegas, "vegas.endless", &vegas.defaults()) else {
        panic!("a program without an end was loaded");
    };
    let said = said.to_string();
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
        assert!(check_name(ccplb, bad).unwrap_err().to_string().contains("cannot be registered"), "{bad}");
    }
}
