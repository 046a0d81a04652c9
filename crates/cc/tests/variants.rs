//! Every declared word, switch and end of range builds a controller that a transport can use.

mod support;

use playpath_cc::{ParamValue, Params, entries};
use playpath_units::Kind;
use support::{Link, Sender};

/// Each parameter away from its default, one at a time.
fn variants(entry: &playpath_cc::Entry) -> Vec<(String, Params)> {
    let mut variants = Vec::new();
    for (spec, default) in Params::defaults(entry.params).iter() {
        let mut add = |label: String, set: &dyn Fn(&mut Params) -> Result<(), String>| {
            let mut params = Params::defaults(entry.params);
            set(&mut params).expect("an allowed value");
            variants.push((format!("{}: {} = {label}", entry.name, spec.name), params));
        };
        match (spec.kind, default) {
            (Kind::Word(words), _) => {
                words.iter().for_each(|word| add((*word).into(), &|params| params.set_word(spec.name, word)));
            }
            (Kind::Number { low, high, .. }, _) => {
                [low, high].iter().for_each(|end| add(end.to_string(), &|params| params.set_number(spec.name, *end)));
            }
            (_, ParamValue::Flag(flag)) => add((!flag).to_string(), &|params| params.set_flag(spec.name, !flag)),
            (kind, _) => panic!("{}: no values of {kind:?} are known here", spec.name),
        }
    }
    variants
}

#[test]
fn every_allowed_value_gives_usable_windows() {
    for entry in entries() {
        for (label, params) in variants(entry) {
            for link in [Link { loss: 0.01, ..Link::PLAIN }, Link { queue_limit: 5, ..Link::PLAIN }] {
                let mut sender = Sender::new((entry.build)(&params, 10.0), link);
                for _ in 0..2_000 {
                    sender.step();
                    let cwnd = sender.cc.cwnd();
                    assert!(cwnd.is_finite() && cwnd >= 1.0, "{label}: cwnd {cwnd}");
                    assert!(
                        sender.cc.pacing_rate().is_none_or(|rate| rate.as_bits_per_sec() > 0),
                        "{label}: no pacing"
                    );
                }
                assert!(sender.delivered > 300, "{label}: {} delivered over {link:?}", sender.delivered);
            }
        }
    }
}
