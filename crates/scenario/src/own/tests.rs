use super::*;

#[test]
fn a_reference_is_told_from_a_registered_name_with_parameters() {
    for text in ["cubic", "ccplb:pob_rate=2", "ccplb:pob_rate=2,mode=free", "bola variant=u", "mine:", ":Mine", "a b:C"]
    {
        assert_eq!(Own::parse(text), None, "{text}");
    }
    let plain = Own::parse("pkg.mine:Outer.Mine").unwrap();
    assert_eq!((plain.reference.as_str(), plain.label().as_str()), ("pkg.mine:Outer.Mine", "Mine"));
    for text in ["mine:Mine(gain=2.5,mode=fast,on=true)", "mine:Mine:gain=2.5,mode=fast,on=true"] {
        let own = Own::parse(text).unwrap();
        assert_eq!(own.reference, "mine:Mine");
        assert_eq!(Value::Object(own.params.clone()), json!({ "gain": 2.5, "mode": "fast", "on": true }));
        assert_eq!(own.label(), "Mine(gain=2.5,mode=fast,on=true)");
    }
    assert_eq!(Own::parse("target/release/libmine.so:mine").unwrap().label(), "mine");
}
