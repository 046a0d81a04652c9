use super::*;

#[test]
fn every_source_file_has_a_law_and_every_law_a_file() {
    let mut built: Vec<_> = crate::objects::OBJECTS.iter().map(|(name, _)| *name).collect();
    let mut listed = names();
    built.sort_unstable();
    listed.sort_unstable();
    assert_eq!(built, listed);
}

#[test]
fn settings_are_read_checked_and_read_back() {
    let ccplb = find("ccplb").unwrap();
    let mut block = ccplb.defaults();
    let mut set = |assignment: &str| assign(ccplb, &mut block, assignment).map_err(|error| error.to_string());
    for good in ["kp=2.3", "recovery=freeze", "urgent=true"] {
        assert_eq!(set(good), Ok(()));
    }
    let shown = "`kp` = 9 is not accepted by the kernel's ccplb; allowed: 0.1 to 8 in steps of 0.001";
    assert_eq!(set("kp=9"), Err(shown.into()));
    assert!(set("kp=2.00001").unwrap_err().ends_with("in steps of 0.001"));
    assert!(
        set("kq=2").unwrap_err().starts_with("unknown parameter of ccplb \"kq\"; did you mean \"kp\"? allowed: ")
    );
    assert_eq!(set("kp=two").unwrap_err(), "`kp=two`: write kp=VALUE, 0.1 to 8 in steps of 0.001");
    assert_eq!(set("recovery=thaw").unwrap_err(), "`recovery=thaw`: write recovery=VALUE, follow, freeze, hold");
    assert_eq!(set("urgent").unwrap_err(), "`urgent`: write NAME=VALUE");
    let read = |name| json(ccplb.slot(name).unwrap().decode(&block));
    assert_eq!((read("kp"), read("recovery"), read("urgent")), (2.3.into(), "freeze".into(), true.into()));
}
