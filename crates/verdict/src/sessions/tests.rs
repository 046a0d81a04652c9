use super::*;
use crate::criteria::{Prefer, criteria};
use crate::ranking::{Proof, Runs};

/// Two senders of one session each second: film of 100 s, rates and stalls as given.
fn served(rates: [[f64; 3]; 2], stalls: [[f64; 3]; 2], prefer: &Prefer) -> Vec<Served> {
    let runs = |sender: usize| {
        let column = |name: &str, values: [f64; 3]| (name.to_string(), values.map(Some).to_vec());
        let columns = [
            column("played_s", [100.0; 3]),
            column("mean_rate_kbps", rates[sender]),
            column("stall_time_s", stalls[sender]),
        ];
        Runs { sender: ["a", "b"][sender].into(), columns: columns.into_iter().collect() }
    };
    Ranker::new(vec![runs(0), runs(1)], &criteria(true), true, prefer, Proof::Tests).served(0, 1)
}

/// Half the rate of 100 s weighs 100 s. A second of stall weighs 8 to 16 where 3000 kbit/s are shown: 1 s is less for everybody, 20 s
/// more (160 at least), 8 s between (64 to 128).
#[test]
fn what_all_viewers_weigh_alike_decides() {
    let found = served([[4000.0; 3], [2000.0; 3]], [[1.0, 20.0, 8.0], [0.0; 3]], &Prefer::Range);
    assert_eq!(found[0], Served { by: Ordering::Greater, criterion: Some("mean_rate_kbps") });
    assert_eq!(found[1], Served { by: Ordering::Less, criterion: Some("stall_time_s") });
    assert_eq!(found[2], ALIKE);
}

#[test]
fn stalls_first_is_the_order_of_the_criteria() {
    let found = served([[4000.0; 3], [2000.0; 3]], [[1.0, 0.0, 0.05], [0.0; 3]], &Prefer::Stalls);
    assert_eq!(found[0], Served { by: Ordering::Less, criterion: Some("stall_time_s") });
    // Within a tenth of a second nobody notices: the picture tells.
    assert_eq!(found[2], Served { by: Ordering::Greater, criterion: Some("mean_rate_kbps") });
}
