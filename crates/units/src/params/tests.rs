use super::*;
use crate::Duration;

const SPECS: &[ParamSpec] = &[
    ParamSpec::number("gain", 2.0, (0.0, 10.0), "packets", "a gain"),
    ParamSpec::whole("flows", 4, (1, u64::MAX), "", "a count"),
    ParamSpec::flag("ecn", false, "a switch"),
    ParamSpec::word("mode", "fast", &["fast", "slow"], "a word"),
    ParamSpec::text("target", "5 ms", Kind::Time, "a time").or("auto"),
    ParamSpec::number("weight", 0.0, (f64::MIN_POSITIVE, 1.0), "", "a weight").or("auto").by_default("auto"),
];

#[test]
fn values_are_checked_by_kind() {
    let mut params = Params::defaults(SPECS);
    for (name, text) in
        [("gain", "10"), ("flows", "1"), ("ecn", "true"), ("mode", "slow"), ("target", "auto"), ("weight", "0.5")]
    {
        params.set_text(name, text).unwrap();
    }
    assert_eq!((params.number("gain"), params.flag("ecn"), params.word("mode")), (10.0, true, "slow"));
    assert_eq!((params.optional::<Duration>("target"), params.optional::<f64>("weight")), (None, Some(0.5)));
    params.set("target", ParamValue::Number(0.0)).unwrap();
    assert_eq!(params.quantity::<Duration>("target"), Duration::ZERO);
    for (name, text, part) in [
        ("gain", "11", "`gain` = 11 is out of range; allowed: 0 to 10 packets"),
        ("gain", "x", "`gain` = \"x\" is wrong"),
        ("flows", "1.5", "allowed: whole numbers from 1"),
        ("ecn", "yes", "allowed: true, false"),
        ("mode", "hope", "`mode` = \"hope\" is not allowed; allowed: fast, slow"),
        ("target", "5", "`target`: \"5\" has no unit"),
        ("weight", "0", "`weight` = 0 is out of range; allowed: above 0 to 1, or \"auto\""),
        ("taget", "5 ms", "unknown parameter \"taget\"; did you mean \"target\"?"),
    ] {
        let error = params.set_text(name, text).unwrap_err();
        assert!(error.contains(part) && error.lines().count() == 1, "{error}");
    }
    assert!(params.set_word("gain", "1").is_err() && params.set_number("target", 5.0).is_err());
}

#[test]
fn defaults_pass_their_own_check() {
    for (spec, value) in Params::defaults(SPECS).iter() {
        assert_eq!(spec.check(value), Ok(()));
    }
}
