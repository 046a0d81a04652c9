use super::*;
use crate::{entries, find};

fn asked(cc: &str, name: &str, value: ParamValue) -> Result<OnKernel, Refused> {
    let entry = find(cc).expect("registered");
    let mut params = entry.params_of(Stack::Linux);
    match value {
        ParamValue::Number(x) => params.set_number(name, x),
        ParamValue::Flag(x) => params.set_flag(name, x),
        ParamValue::Word(x) => params.set_word(name, x),
    }
    .expect("a value of the control");
    entry.on_kernel(&params, false)
}

#[test]
fn a_value_is_held_exactly_or_refused_by_name() {
    // The kernel's Vegas once made 2 of 1.5, silently.
    let vegas = asked("vegas", "alpha", ParamValue::Number(1.5)).expect("thousandths");
    assert_eq!(
        (vegas.control.to_string(), vegas.settings),
        ("bpf:vegas".into(), vec![("alpha", ParamValue::Number(1.5))])
    );
    let refused = |cc, name, value| asked(cc, name, value).err().expect("refused").to_string();
    assert_eq!(
        refused("vegas", "alpha", ParamValue::Number(0.0125)),
        "`alpha` = 0.0125 is not accepted by the kernel's vegas; allowed: 0 to 1000 packets in steps of 0.001"
    );
    // The simulator's windows go to 10^7.
    assert_eq!(
        refused("ccp", "max_cwnd", ParamValue::Number(2e6)),
        "`max_cwnd` = 2000000 is not accepted by the kernel's ccp; allowed: 10 to 1048576 packets in steps of 1"
    );
    assert_eq!(
        refused("ccplb", "pob_mode", ParamValue::Word("free")),
        "`pob_mode` = free is not accepted by the kernel's ccplb; allowed: only size"
    );
    assert_eq!(
        refused("cubic", "beta", ParamValue::Number(0.8)),
        "`beta` = 0.8 is not accepted by the kernel's cubic; allowed: only 0.7"
    );
}

#[test]
fn what_belongs_to_the_stack_is_told() {
    let found = asked("cubic", "growth", ParamValue::Word("rfc")).expect("Linux's own habit");
    assert_eq!(found.stack_params, [("growth", ParamValue::Word("rfc"))]);
    assert!(found.settings.is_empty());
}

#[test]
fn newcwv_has_twins_of_its_own() {
    let on = |cc: &str| {
        let entry = find(cc).expect("registered");
        entry.on_kernel(&entry.params_of(Stack::Linux), true).map(|found| found.control.to_string())
    };
    assert_eq!(on("reno"), Ok("bpf:newcwv".into()));
    assert_eq!(on("cubic"), Ok("bpf:newcwvcubic".into()));
    let error = on("ccp").unwrap_err().to_string();
    assert_eq!(error, "newcwv on the kernel goes over cubic, newreno, not over ccp");
    let error = on("sammy").unwrap_err().to_string();
    assert!(
        error.starts_with(
            "sammy: neither Linux nor playpath's eBPF programs have this control; available: cubic, newreno"
        ),
        "{error}"
    );
}

#[test]
fn slots_hold_what_they_say() {
    for law in laws() {
        let block = law.defaults();
        let mut taken = [false; SLOTS];
        for slot in law.slots() {
            assert!(!std::mem::replace(&mut taken[slot.index], true), "{}.{}: a second one", law.name, slot.spec.name);
            assert_eq!(slot.decode(&block), slot.spec.default, "{}.{}", law.name, slot.spec.name);
            if let ParamValue::Number(_) = slot.spec.default {
                let (low, high) = slot.spec.range();
                let held = |x: f64| slot.encode(ParamValue::Number(x));
                assert!(held(low).is_some() && held(high).is_some(), "{}.{}", law.name, slot.spec.name);
                assert!(high * f64::from(slot.scale) <= f64::from(u32::MAX), "{}.{}", law.name, slot.spec.name);
            }
        }
        assert!(law.details.len() <= 8, "{}: PP_DETAILS in bpf/glue.bpf.h", law.name);
    }
}

#[test]
fn a_slot_of_a_control_is_its_parameter() {
    for entry in entries() {
        let Some(law) = entry.in_kernel.as_ref().and_then(|it| it.control.law()) else { continue };
        for spec in entry.params {
            let Some(slot) = law.slot(spec.name) else { continue };
            assert_eq!(slot.spec.default, spec.default, "{}.{}", entry.name, spec.name);
            // The law may stop short of the last words; what it has is numbered as in the control.
            assert!(spec.words().starts_with(slot.spec.words()), "{}.{}", entry.name, spec.name);
            assert_eq!(slot.spec.unit(), spec.unit(), "{}.{}", entry.name, spec.name);
            let ((low, high), (spec_low, spec_high)) = (slot.spec.range(), spec.range());
            assert!(spec_low <= low && high <= spec_high, "{}.{}: a wider range", entry.name, spec.name);
        }
    }
}
