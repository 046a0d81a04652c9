use super::*;

#[test]
fn stacks_differ_in_what_they_declare() {
    let words = |name: &str, stack| {
        let params = find(name).expect("registered").params_of(stack);
        (params.text("slow_start"), params.number("abc_limit"), params.text("reduce_from"))
    };
    assert_eq!(words("cubic", Stack::Rfc), ("hystart++".into(), 8.0, "flight_size".into()));
    assert_eq!(words("cubic", Stack::Linux), ("hystart".into(), 65535.0, "cwnd".into()));
    assert_eq!(words("newreno", Stack::Linux), ("classic".into(), 65535.0, "cwnd".into()));
    assert_eq!(words("newreno", Stack::Ns2), ("classic".into(), 1.0, "cwnd".into()));
    assert_eq!(words("cubic", Stack::Ns2), ("classic".into(), 1.0, "cwnd".into()));
    assert_eq!(words("cubic", Stack::Quinn), ("classic".into(), 65535.0, "cwnd".into()));
    assert_eq!(words("cubic", Stack::Ngtcp2), ("hystart++".into(), 65535.0, "cwnd".into()));
    assert_eq!(words("newreno", Stack::Ngtcp2), ("classic".into(), 65535.0, "cwnd".into()));
    assert_eq!(words("cubic", Stack::Picoquic), ("hystart".into(), 65535.0, "cwnd".into()));
    let beta = |stack| find("cubic").expect("registered").params_of(stack).number("beta");
    assert_eq!([Stack::Quinn, Stack::Ngtcp2, Stack::Picoquic].map(beta), [0.7, 0.7, 0.875]);
    let word = |name: &str, key, stack| find(name).expect("registered").params_of(stack).text(key);
    let stacks = [Stack::Rfc, Stack::Linux, Stack::Quinn, Stack::Noq, Stack::Ngtcp2, Stack::Picoquic];
    assert_eq!(stacks.map(|s| word("cubic", "growth", s)), ["rfc", "linux", "quinn", "noq", "ngtcp2", "rfc"]);
    assert_eq!(stacks.map(|s| word("newreno", "growth", s)), ["rfc", "linux", "rfc", "rfc", "rfc", "rfc"]);
    assert_eq!(stacks.map(|s| word("bbr3", "law", s)), ["draft", "draft", "draft", "noq", "ngtcp2", "draft"]);
    // Every control has defaults under every stack.
    for entry in entries() {
        for stack in [Stack::Rfc, Stack::Linux, Stack::Ns2, Stack::Quinn, Stack::Noq, Stack::Ngtcp2] {
            let params = entry.params_of(stack);
            assert_eq!(params.iter().count(), entry.params.len());
            let differs = params.iter().filter(|(spec, value)| *value != spec.default);
            let names: Vec<_> = differs.map(|(spec, _)| spec.name).collect();
            assert!(names.iter().all(|name| Stack::STACK_PARAMS.contains(name)), "{}: {names:?}", entry.name);
        }
    }
}
