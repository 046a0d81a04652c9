use super::*;
use playpath_link::{DropTailConfig, LossConfig, Outage, QueueConfig};
use playpath_units::{QueueLimit, Time};

const ENDS: &str = r#""server": {"namespace": "s", "device": "d0", "address": "10.0.0.1"}, "client": {"namespace": 42, "device": "d0"}"#;
const PATH: &str = r#"{"name": "a", "rate": "1 Mbit/s", "rtt": "20 ms"}"#;

/// A scenario of these paths, with ends.
fn parse(scenario: &str, ends: &str) -> Result<Config, ConfigError> {
    let text = format!(r#"{{"scenario": {{"traffic": [{{"kind": "bulk"}}], {scenario}}}, "ends": [{ends}]}}"#);
    Config::parse(&text.replace("ENDS", ENDS).replace("PATH", PATH))
}

#[test]
fn a_path_is_that_of_the_scenario() {
    let wifi = r#""path": [{"name": "wifi", "rate": "20 Mbit/s", "rtt": "100 ms", "loss": "0.5 %"}]"#;
    let config = parse(wifi, r#"{"path": "wifi", ENDS}"#).unwrap();
    let (down, up) = (&config.links[0], &config.links[1]);
    assert_eq!((down.name.as_str(), up.name.as_str()), ("path.wifi/down", "path.wifi/up"));
    assert_eq!(down.one_way_delay, Duration::from_millis(50));
    assert_eq!((down.loss.mean_loss(), &up.loss), (0.005, &LossConfig::None));
    assert_eq!(down.queue, QueueConfig::default());
    assert_eq!(up.queue, QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Packets(1000) }));
    let route = &config.routes[0];
    assert_eq!((&route.client.namespace, &route.name), (&Namespace::OfProcess(42), &"wifi".to_string()));
    assert_eq!(route.links, PathLinks { down: vec![0], up: vec![1] });
    assert_eq!((config.settings.seed, config.settings.tolerance), (1, None));
}

/// A twentieth of the RTT and half of the time of 1500 bytes: 5 ms and 0.3 ms; 1 ms and 6 ms; 0.1 ms and 6 us, which is less
/// than is asked of any machine.
#[test]
fn a_path_bears_what_its_delay_and_its_packets_do() {
    for (rate, rtt, micros) in [("20 Mbit/s", "100 ms", 5300), ("1 Mbit/s", "20 ms", 7000), ("1 Gbit/s", "2 ms", 500)] {
        let path = format!(r#""path": [{{"name": "a", "rate": "{rate}", "rtt": "{rtt}"}}]"#);
        let mut config = parse(&path, r#"{"path": "a", ENDS}"#).unwrap();
        assert_eq!(config.tolerance(&config.routes[0]), Duration::from_micros(micros));
        config.settings.tolerance = Some(Duration::from_millis(20));
        assert_eq!(config.tolerance(&config.routes[0]), Duration::from_millis(20));
    }
}

/// Its own 15 ms each way, in front of the path's links on the way down and behind them on the way up.
#[test]
fn a_flow_may_have_a_delay_of_its_own() {
    let ftp = r#"{"path": "a", "flow": "ftp", "rtt": "30 ms", "server": {"device": "d1"}, "client": {"device": "d2"}}"#;
    let config = parse(r#""path": [PATH]"#, &format!(r#"{{"path": "a", ENDS}}, {ftp}"#)).unwrap();
    assert_eq!(config.routes[1].links, PathLinks { down: vec![2, 0], up: vec![1, 3] });
    assert_eq!((config.routes[1].name.as_str(), config.routes[1].is_access), ("ftp", true));
    let names: Vec<_> = config.links[2..].iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["flow.ftp/a/down", "flow.ftp/a/up"]);
    assert!(config.links[2..].iter().all(|link| link.one_way_delay == Duration::from_millis(15)));
}

/// Of the path's own links, as in the simulator: not of those it shares.
#[test]
fn an_outage_is_that_of_the_paths_own_links() {
    let text = r#""link": [{"name": "dsl", "rate": "1 Mbit/s", "rtt": "10 ms"}], "path": [{"name": "a", "rate": "1 Mbit/s",
            "rtt": "20 ms", "via": ["dsl"], "outage": {"from": "20 s", "until": null}}]"#;
    let config = parse(text, r#"{"path": "a", ENDS}"#).unwrap();
    let outage = Outage { from: Time::from_secs(20), until: Time::MAX, spread: Duration::ZERO };
    let found: Vec<_> = config.links.iter().map(|link| link.outage).collect();
    assert_eq!(found, [None, None, Some(outage), Some(outage)]);
    assert_eq!(config.routes[0].links, PathLinks { down: vec![0, 2], up: vec![3, 1] });
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    for (text, expected) in [("[", "not a configuration: "), ("{}", "not a configuration: missing field `scenario`")] {
        assert!(Config::parse(text).unwrap_err().to_string().starts_with(expected));
    }
    let path = r#""path": [PATH]"#;
    for (scenario, ends, expected) in [
        (path, r#"{"colour": 1, "path": "a", ENDS}"#, "not a configuration: unknown field `colour`, expected one of "),
        (path, "", "`ends` is empty"),
        (
            r#""path": [{"name": "a", "rate": "1", "rtt": "1 ms"}]"#,
            r#"{"path": "a", ENDS}"#,
            "`scenario`: `path[0].rate`: ",
        ),
        (path, r#"{"path": "b", ENDS}"#, "`ends[0].path`: there is no path \"b\""),
        (path, r#"{"path": "a", "flow": "ftp", ENDS}"#, "`ends[0]`: `flow` and `rtt` belong together"),
        (path, r#"{"path": "a", "server": {"device": "a/b"}, "client": {"device": "x"}}"#, "`ends[0]`: \"a/b\" is not"),
        (path, r#"{"path": "a", "server": {"device": "x"}, "client": {"device": "x"}}"#, "device \"x\" is named twice"),
        (
            path,
            r#"{"path": "a", ENDS}, {"path": "a", "server": {"device": "x"}, "client": {"device": "y"}}"#,
            "two entries of `ends` have the name \"a\"",
        ),
    ] {
        let message = parse(scenario, ends).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{ends}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn a_series_has_a_thousand_rows_a_second_at_most() {
    for (interval, is_allowed) in [("0 s", false), ("0.999 ms", false), ("1 ms", true), ("auto", true)] {
        let run = format!(r#"{{"sample": "{interval}"}}, "ends": [{{"path": "a", {ENDS}}}]"#);
        let text = format!(r#"{{"scenario": {{"traffic": [{{"kind": "bulk"}}], "path": [{PATH}]}}, "run": {run}}}"#);
        let found = Config::parse(&text).map(drop).map_err(|error| error.to_string());
        assert_eq!(found, if is_allowed { Ok(()) } else { Err("`run.sample`; allowed: 1 ms or more".into()) });
    }
}
