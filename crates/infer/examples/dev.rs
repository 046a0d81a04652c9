//! dev
use playpath_infer::{chain::Beliefs, deployed::Deployed, emission::Noise, log::*, session::infer, steps::steps};
fn main() {
    let env = |n: &str, d: f64| std::env::var(n).ok().and_then(|v| v.parse().ok()).unwrap_or(d);
    let noise = Noise {
        absolute_s: env("ABS", 0.004),
        relative: env("REL", 0.01),
        pauses: env("PAUSE", 0.03),
        think_s: env("THINK", 0.003),
    };
    let mut beliefs = Beliefs::default();
    beliefs.drift.0 = env("DRIFT", beliefs.drift.0);
    beliefs.shift.0 = env("SHIFT", beliefs.shift.0);
    beliefs.anything = env("ANY", beliefs.anything);
    let deployed = Deployed::linux(&std::env::var("CC").unwrap_or("cubic".into())).unwrap();
    let verbose = std::env::var("V").is_ok();
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut t = vec![];
        for line in text.lines() {
            let f: Vec<f64> = line.split('\t').map(|x| x.parse().unwrap()).collect();
            let some = |x: f64| (x > 0.0).then_some(x);
            t.push(Transfer {
                at_s: f[0],
                bytes: f[1] * 1e3,
                took_s: f[2] / 1e3,
                first_byte_s: None,
                socket: Some(Socket {
                    cwnd: some(f[3]),
                    rtt_s: some(f[4] / 1e3),
                    rto_s: some(f[5] / 1e3),
                    min_rtt_s: some(f[6] / 1e3),
                    ssthresh: (f[7] > 0.0 && f[7] < 2e9).then_some(f[7]),
                    idle_s: some(f[8]),
                }),
            });
        }
        let p = infer(&t, &deployed, &beliefs, &noise, env("DRAWS", 100.0) as usize, 1);
        println!("# {file} {} {}", p.rtt_s, p.evidence);
        if verbose {
            for (x, o) in t.iter().zip(&p.off) {
                println!("off {} {} {} {}", x.at_s, x.bytes, x.took_s, o);
            }
        }
        for (i, s) in steps(&p.courses, p.lasts_s, 5.0).iter().enumerate() {
            println!("{} {} {} {} {}", i * 5, s.mean / 1e6, s.p05 / 1e6, s.p50 / 1e6, s.p95 / 1e6);
        }
    }
}
