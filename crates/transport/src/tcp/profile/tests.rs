use super::*;
use crate::tcp::config::ConfigError;

#[test]
fn profiles_are_valid_and_found_by_name() {
    for (name, _) in Config::PROFILES {
        assert_eq!(Config::profile(name).unwrap().validate(), Ok(()), "{name}");
    }
    assert_eq!(Config::profile("bsd"), None);
}

#[test]
fn what_cannot_work_is_refused_with_its_range() {
    let small = Config { receive_buffer: 1000, ..Config::linux() };
    let error = ConfigError { field: "receive_buffer", value: 1000.0, allowed: (1448.0, 1073741824.0) };
    assert_eq!(small.validate(), Err(error));
    assert_eq!(error.to_string(), "`receive_buffer` = 1000 is out of range; allowed: 1448 to 1073741824");
    assert!(Config { mss: 0, ..Config::linux() }.validate().is_err());
    assert!(Config { pacing: Pacing::Gain(f64::NAN), ..Config::linux() }.validate().is_err());
}

/// RFC 6928: 14 600 bytes at MSS 1460; 5360 at 536; two segments at 9000 (18 000).
#[test]
fn initial_windows() {
    let packets = |mss| Config { iw: InitialWindow::Rfc6928, mss, ..Config::rfc() }.initial_window();
    assert_eq!((packets(1460), packets(536), packets(9000)), (10.0, 10.0, 2.0));
    assert_eq!(Config::ns2().initial_window(), 2.0);
}
