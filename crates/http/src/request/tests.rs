use super::*;

#[test]
fn hosts() {
    for host in ["a", "", "a.test:8080", "10.0.0.1:80", "[2001:db8::1]", "[::1]:4433", "a_b.test", "a:", "caf%C3%A9"] {
        assert!(is_host(host), "{host}");
    }
    for host in ["a b", "a/c", "me@a", "a:b", "a:80:80", "[::1", "::1", "a\"b", "café"] {
        assert!(!is_host(host), "{host}");
    }
}

#[test]
fn ranges() {
    for (text, len, expected) in [
        ("bytes=0-3", 10, Range::Part(0, 3)),
        ("bytes=4-", 10, Range::Part(4, 9)),
        ("bytes=-3", 10, Range::Part(7, 9)),
        ("bytes=-30", 10, Range::Part(0, 9)),
        ("bytes=5-100", 10, Range::Part(5, 9)),
        ("bytes=10-", 10, Range::Beyond),
        ("bytes=0-0", 0, Range::Beyond),
        ("bytes=-5", 0, Range::Beyond),
        ("bytes=-0", 10, Range::Beyond),
        ("bytes=5-2", 10, Range::Whole),
        ("bytes=0-1,4-5", 10, Range::Whole),
        ("bytes=+1-2", 10, Range::Whole),
        ("lines=1-2", 10, Range::Whole),
        ("bytes=-", 10, Range::Whole),
        ("bytes=18446744073709551616-", 10, Range::Whole),
    ] {
        assert_eq!(Range::parse(text, len), expected, "{text} of {len}");
    }
}
