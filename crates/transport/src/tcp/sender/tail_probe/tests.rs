use super::*;

#[test]
fn probe_timeouts() {
    let ms = Duration::from_millis;
    assert_eq!(probe_timeout(ms(100), 2), ms(200));
    assert_eq!(probe_timeout(ms(100), 1), ms(400));
    assert_eq!(probe_timeout(Duration::ZERO, 5), ms(1000));
}
