use super::*;

#[test]
fn what_is_asked_is_read_back() {
    let ms = Duration::from_millis;
    let next_at = Time::from_nanos(5_000);
    for delivery in [
        Delivery::After(ms(200)),
        Delivery::Chunks { bytes: 100_000, every: ms(100) },
        Delivery::AsEncoded { pieces: 4, encoded: 1, next_at, every: ms(500) },
    ] {
        let line = delivery_line(delivery, |time| time.as_nanos() + 70);
        let value = line.strip_prefix("Playpath-Delivery: ").unwrap().strip_suffix("\r\n").unwrap();
        assert_eq!(read_delivery(value, |nanos| Time::from_nanos(nanos - 70)), Some(delivery), "{value}");
    }
    assert_eq!(delivery_line(Delivery::AsFastAsPossible, Time::as_nanos), "");
}

#[test]
fn what_cannot_be_is_refused() {
    for wrong in [
        "",
        "after 5 s",
        "after 99999999999999999 ns",
        "0 bytes every 5 ns",
        "5 bytes every 0 ns",
        "5 of 4 next at 1 ns every 1 ns",
        "0 of 0 next at 1 ns every 1 ns",
    ] {
        assert_eq!(read_delivery(wrong, Time::from_nanos), None, "{wrong}");
    }
}
