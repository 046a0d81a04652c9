use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn field(name: &str, value: &str) -> Field {
    (name.into(), value.into())
}

/// RFC 7541 appendix C.4: three requests with Huffman's code, the second and third of the table that the ones before filled.
#[test]
fn the_requests_of_the_rfc() {
    let mut decoder = Decoder::default();
    let base = [field(":method", "GET"), field(":scheme", "http"), field(":path", "/")];
    let first = [&base[..], &[field(":authority", "www.example.com")]].concat();
    assert_eq!(decoder.decode(&hex("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff")).unwrap(), first);
    let second = [&first[..], &[field("cache-control", "no-cache")]].concat();
    assert_eq!(decoder.decode(&hex("8286 84be 5886 a8eb 1064 9cbf")).unwrap(), second);
    let third = decoder.decode(&hex("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf")).unwrap();
    assert_eq!(third[1..3], [field(":scheme", "https"), field(":path", "/index.html")]);
    assert_eq!(third[4], field("custom-key", "custom-value"));
    assert_eq!(decoder.size, 164, "appendix C.4.3");
}

#[test]
fn what_leaves_comes_back() {
    let fields = [(":status", "206"), ("content-length", "10"), ("cmsd-dynamic", "etp=96")];
    let section = encode(fields.into_iter());
    let expected: Vec<Field> = fields.iter().map(|(name, value)| field(name, value)).collect();
    assert_eq!(Decoder::default().decode(&section).unwrap(), expected);
}

#[test]
fn what_is_malformed_or_too_large_is_refused() {
    for wrong in ["80", "be", "7f", "40", "3fe13f", "00"] {
        assert_eq!(Decoder::default().decode(&hex(wrong)), None, "{wrong}");
    }
    // An entry of 3 kB, and then a byte for each time that it is named: 3 MB from 4 kB.
    let mut bomb = vec![0x40];
    put_string(&mut bomb, 7, "a");
    put_string(&mut bomb, 7, &"b".repeat(3000));
    bomb.extend([0xbe; 1000]);
    assert_eq!(Decoder::default().decode(&bomb), None);
    // An octet is one, whatever text it is: 1 + 4 + 32.
    let mut decoder = Decoder::default();
    assert_eq!(decoder.decode(b"\x40\x01x\x04caf\xe9").unwrap(), [field("x", "caf\u{fffd}")]);
    assert_eq!(decoder.size, 37);
    // The table holds 4096 bytes: older entries go.
    let mut decoder = Decoder::default();
    for _ in 0..10 {
        assert!(decoder.decode(&bomb[..bomb.len() - 1000]).is_some());
        assert!(decoder.size <= TABLE_BYTES);
    }
}
