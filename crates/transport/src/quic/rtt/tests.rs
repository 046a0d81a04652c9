use super::super::config::Config;
use super::*;

/// Before a sample: PTO = 333 + 4*166.5 = 999 ms. First sample 100: srtt 100, var 50; PTO 300; loss delay 112.5. Then 140 with 20 ms
/// of delay: adjusted 120; var (3*50+20)/4 = 42.5, srtt (700+120)/8 = 102.5. Then 110 with 20: 110 < 100+20, nothing is taken off:
/// var (127.5+7.5)/4 = 33.75, srtt (717.5+110)/8 = 103.4375.
#[test]
fn worked_estimates() {
    let (config, ms) = (Config::default().loss, |f: f64| Duration::from_nanos((f * 1e6) as u64));
    let mut rtt = Rtt::new(&config);
    assert_eq!((rtt.pto(&config), rtt.measured()), (ms(999.0), Duration::ZERO));
    rtt.add_sample(Time::ZERO, ms(100.0), ms(20.0));
    assert_eq!((rtt.smoothed(), rtt.pto(&config), rtt.loss_delay(&config)), (ms(100.0), ms(300.0), ms(112.5)));
    rtt.add_sample(Time::ZERO, ms(140.0), ms(20.0));
    assert_eq!((rtt.smoothed(), rtt.variation(), rtt.min()), (ms(102.5), ms(42.5), ms(100.0)));
    rtt.add_sample(Time::ZERO, ms(110.0), ms(20.0));
    assert_eq!((rtt.smoothed(), rtt.variation()), (ms(103.4375), ms(33.75)));
}
