use super::*;

/// Since 1970, some day.
const YEARS: Duration = Duration::from_secs(1_700_000_000);

/// RFC 9001 appendix A.4: the token is `token`.
#[test]
fn the_tag_of_the_rfc() {
    let cids = (&[][..], &b"\xf0\x67\xa5\x50\x2a\x42\x62\xb5"[..], &b"\x83\x94\xc8\xf0\x3e\x51\x57\x08"[..]);
    let (mut packet, mut sealed) = retry(cids, b"token");
    // Unused bits of the first byte are ours to choose: the RFC's are ones.
    (packet[0], sealed[9]) = (0xff, 0xff);
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &RETRY_KEY).unwrap());
    let nonce = Nonce::assume_unique_for_key(RETRY_NONCE);
    let tag = key.seal_in_place_separate_tag(nonce, Aad::from(sealed), &mut []).unwrap();
    assert_eq!(tag.as_ref(), b"\x04\xa2\x65\xba\x2e\xff\x4d\x82\x90\x58\xfb\x3f\x0f\x24\x96\xba");
    assert_eq!(packet, b"\xff\x00\x00\x00\x01\x00\x08\xf0\x67\xa5\x50\x2a\x42\x62\xb5token");
}

#[test]
fn a_token_is_of_an_address_an_id_and_a_time() {
    let tokens = Tokens::new(&[7; 32], YEARS);
    let remote: SocketAddr = "10.0.0.1:5000".parse().unwrap();
    let packet = tokens.retry(Time::from_secs(1), remote, (&[1], &[2; 8], &[3; 9])).unwrap();
    let token = &packet[5 + 2 + 9..packet.len() - 16];
    let original = |at, remote: &str, own: u8| {
        tokens.original(Time::from_secs(at), remote.parse().unwrap(), &[own; 8], token).map(<[u8]>::to_vec)
    };
    assert_eq!(original(15, "10.0.0.1:5000", 2), Some(vec![3; 9]));
    assert_eq!(original(16, "10.0.0.1:5000", 2), None, "too old");
    assert_eq!(original(2, "10.0.0.1:5001", 2), None, "another port");
    assert_eq!(original(2, "10.0.0.2:5000", 2), None, "another host");
    assert_eq!(original(2, "10.0.0.1:5000", 4), None, "another id");
    assert_eq!(
        Tokens::new(&[8; 32], YEARS).original(Time::from_secs(2), remote, &[2; 8], token),
        None,
        "another server"
    );
    for cut in 0..token.len() {
        assert_eq!(tokens.original(Time::from_secs(2), remote, &[2; 8], &token[..cut]), None);
    }
}

#[test]
fn a_reset_is_shorter_than_what_it_answers() {
    let tokens = Tokens::new(&[7; 32], YEARS);
    let reset = |bytes| tokens.reset(&[1; 8], bytes, || Some(u64::MAX));
    assert_eq!((reset(21), reset(22).unwrap().len(), reset(1500).unwrap().len()), (None, 21, 43));
    let made = reset(1500).unwrap();
    assert_eq!((made[0] & 0xc0, &made[27..]), (0x40, &tokens.of_reset(&[1; 8])[..]));
}

/// RFC 9000 §8.1.4: a server that was started anew with the same key reads the tokens of the one before, for as long as they are good;
/// none is of a time to come.
#[test]
fn a_restart_makes_no_token_good_again() {
    let remote: SocketAddr = "10.0.0.1:5000".parse().unwrap();
    let started = |seconds| Tokens::new(&[7; 32], YEARS + Duration::from_secs(seconds));
    let packet = started(0).retry(Time::from_secs(100), remote, (&[1], &[2; 8], &[3; 9])).unwrap();
    let token = &packet[5 + 2 + 9..packet.len() - 16];
    let is_good = |start, now| started(start).original(Time::from_secs(now), remote, &[2; 8], token).is_some();
    assert!(is_good(101, 0) && is_good(101, 13) && !is_good(101, 14) && !is_good(500, 1));
    assert!(is_good(0, 99) && !is_good(0, 98), "a second of skew");
}
