use super::*;

/// 400 bytes are 422; 16 384 are a record of 16 406; one more begins another: 16 385 + 44.
#[test]
fn worked_sizes_of_records() {
    assert_eq!([400, 16_384, 16_385].map(in_records), [422, 16_406, 16_429]);
    assert_eq!([422, 21, 16_406, 16_428, 16_429].map(of_records), [400, 0, 16_384, 16_384, 16_385]);
    for bytes in [0, 1, 399, 16_383, 16_384, 32_769, 1_000_000] {
        assert_eq!(of_records(in_records(bytes)), bytes);
    }
}

/// 5 + 320; 5 + 90 + 6 + 22 + 120 + 2200 + 80 + 36, and without the certificate 2280 less; 6 + 22 + 36.
#[test]
fn worked_flights() {
    let (full, again) = (Tls::default(), Tls { resumption: Resumption::Ticket, ..Tls::default() });
    assert_eq!((full.first_records(), full.server_records(), full.last_records()), (325, 2559, 64));
    assert_eq!(again.server_records(), 279);
}
