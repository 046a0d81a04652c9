use super::*;

#[test]
fn a_rule_as_typed() {
    let (entry, params) = parse("bola variant=u gp=7.5").unwrap();
    assert_eq!((entry.name, params.word("variant"), params.number("gp")), ("bola", "u", 7.5));
    let error = |text: &str| parse(text).map(drop).unwrap_err();
    assert!(error("bolla").starts_with("unknown rule \"bolla\"; did you mean \"bola\"? allowed: "));
    assert!(error("bola gp").contains("key=value"));
    assert!(error("bola gp=x").contains("is wrong; allowed: "));
    assert!(error("bola variant=z").contains("basic, u, o, e"));
    assert!(error("bola vriant=e").contains("unknown parameter \"vriant\"; did you mean \"variant\"?"));
    assert!(error("throughput abandon=1").contains("true, false"));
}
