use super::*;

/// Two validations of one connection, and those of a connection with another secret: nothing leads from one token to the next.
#[test]
fn challenges_cannot_be_guessed() {
    let tokens = |secret| {
        let mut route = Route::unknown();
        route.keep_secret(secret);
        [0, 1].map(|_| {
            route.begin(Time::ZERO, Duration::from_secs(1), None);
            route.validation.as_ref().expect("begun").token
        })
    };
    let found = [tokens(1), tokens(2)].concat();
    for (index, token) in found.iter().enumerate() {
        let distances = found[..index].iter().map(|other| (token ^ other).count_ones());
        assert!(*token > 1 << 32 && distances.min().unwrap_or(64) > 10, "{found:x?}");
    }
    assert_eq!(tokens(1), tokens(1));
}
