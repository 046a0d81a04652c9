//! Contract of every scheduler in the registry: never a subflow without room; work is given out when one path works and
//! nothing else holds; the same views give the same answers; declared parameters build.

use playpath_cc::{ParamValue, Params};
use playpath_transport::mptcp::scheduler::{self, Blockage, Context, Scheduler, SubflowView};
use playpath_units::{Duration, Kind, Rate, Time};
use proptest::prelude::*;

/// Any state that a subflow can be in; the path is filled in by `views`.
fn any_view() -> impl Strategy<Value = SubflowView> {
    let times = (1u64..400, 0u64..50, any::<bool>());
    let windows = (1.0f64..100.0, 2.0f64..100.0, any::<bool>(), 0u32..100, 0u32..3);
    let rarely = || prop::bool::weighted(0.2);
    let flags = (prop::bool::weighted(0.8), rarely(), rarely(), rarely(), any::<bool>());
    (times, windows, flags).prop_map(|((srtt_ms, rttvar_ms, is_paced), windows, flags)| {
        let (srtt, rttvar) = (Duration::from_millis(srtt_ms), Duration::from_millis(rttvar_ms));
        let (cwnd, ssthresh, is_slow_start, in_flight, queued) = windows;
        SubflowView {
            path: 0,
            is_usable: flags.0,
            is_backup: flags.1,
            is_recovering: flags.2,
            is_loss: flags.3,
            is_ca_open: !flags.2 && !flags.3,
            srtt,
            rttvar,
            srtt_range: (srtt / 2, srtt * 2),
            cwnd,
            ssthresh: if is_slow_start { f64::INFINITY } else { ssthresh },
            in_flight,
            queued,
            buffered_bytes: u64::from(in_flight + queued) * 1400,
            sized_for: queued * 5,
            paced_at: is_paced.then(|| Rate::from_bits_per_sec(1_000_000 + srtt_ms * 1000)),
            delivery_rate: Rate::from_bits_per_sec(rttvar_ms * 100_000),
            mss: 1400,
            has_segment: flags.4,
        }
    })
}

fn views() -> impl Strategy<Value = Vec<SubflowView>> {
    prop::collection::vec(any_view(), 1..5).prop_map(|mut views| {
        views.iter_mut().enumerate().for_each(|(path, view)| view.path = path);
        views
    })
}

fn context<'a>(subflows: &'a [SubflowView], step: u64, is_reinjection: bool, backlog: u64, window: u64) -> Context<'a> {
    Context {
        now: Time::from_millis(step * 7),
        subflows,
        offset: step * 1400,
        segment_bytes: 1400,
        is_reinjection,
        unscheduled_bytes: backlog.max(1400),
        window_left: window.max(1400),
        send_window: window.max(1400) + 50_000,
    }
}

fn has_room(scheduler: &dyn Scheduler, view: &SubflowView) -> bool {
    view.has_room(scheduler.room())
}

proptest! {
    #[test]
    fn room_and_determinism(
        steps in prop::collection::vec((views(), any::<bool>(), 0u64..1_000_000, 0u64..1_000_000), 1..20)
    ) {
        for entry in scheduler::entries() {
            let (mut one, mut two) = (scheduler::build(entry.name).unwrap(), scheduler::build(entry.name).unwrap());
            for (i, (subflows, is_reinjection, backlog, window)) in steps.iter().enumerate() {
                let context = context(subflows, i as u64, *is_reinjection, *backlog, *window);
                let decision = one.select(&context);
                prop_assert_eq!(decision, two.select(&context), "{} must repeat", entry.name);
                prop_assert!(!decision.reason.is_empty());
                if let Some(path) = decision.path {
                    prop_assert!(has_room(&*one, &subflows[path]), "{} chose {:?}", entry.name, subflows[path]);
                }
                let blockage = if *backlog % 2 == 0 { Blockage::ReceiveWindow } else { Blockage::SendBuffer { is_full: true } };
                let relief = one.relieve(&context, blockage);
                prop_assert_eq!(relief, two.relieve(&context, blockage));
                if let Some(path) = relief.and_then(|r| r.retransmit_on) {
                    prop_assert!(has_room(&*one, &subflows[path]) && !subflows[path].has_segment, "{}", entry.name);
                }
                if let Some(relief) = relief {
                    let holders = subflows.iter().filter(|s| s.has_segment).fold(0u32, |bits, s| bits | 1 << s.path);
                    prop_assert_eq!(relief.penalised & !holders, 0, "only who holds the segment is penalised");
                }
            }
        }
    }

    /// The connection does not ask where nobody has room: a scheduler that is asked waits, relieves nothing, and decides afterwards
    /// as one that was not asked. Nor does it ask again for bytes behind a full segment, or tell the pacing rate, unless the scheduler
    /// says that it reads them.
    #[test]
    fn questions_that_are_spared(
        steps in prop::collection::vec((views(), any::<bool>(), 0u64..1_000_000, 0u64..1_000_000), 1..20)
    ) {
        for entry in scheduler::entries() {
            let (mut asked, mut spared) = (scheduler::build(entry.name).unwrap(), scheduler::build(entry.name).unwrap());
            for (i, (subflows, is_reinjection, backlog, window)) in steps.iter().enumerate() {
                let question = context(subflows, i as u64, *is_reinjection, *backlog, *window);
                let decision = asked.select(&question);
                if !subflows.iter().any(|view| has_room(&*asked, view)) {
                    prop_assert_eq!(decision.path, None, "{} has no path with room", entry.name);
                    prop_assert_eq!(asked.relieve(&question, Blockage::ReceiveWindow), None, "{}", entry.name);
                    continue;
                }
                let mut views = subflows.clone();
                if !spared.reads_pacing() {
                    views.iter_mut().for_each(|view| view.paced_at = None);
                }
                let other = if spared.reads_backlog() { question.unscheduled_bytes } else { 5 << 20 };
                let question = Context { subflows: &views, unscheduled_bytes: other, ..question };
                prop_assert_eq!(spared.select(&question), decision, "{}", entry.name);
            }
        }
    }

    /// One usable path with room, nothing in flight anywhere: it is chosen, whatever happened before.
    #[test]
    fn no_starvation(before in prop::collection::vec(views(), 0..10), mut subflows in views(), pick in any::<prop::sample::Index>()) {
        let working = pick.index(subflows.len());
        for (path, subflow) in subflows.iter_mut().enumerate() {
            subflow.is_usable = path == working;
        }
        let subflow = &mut subflows[working];
        (subflow.is_loss, subflow.is_recovering, subflow.in_flight, subflow.queued, subflow.buffered_bytes) = (false, false, 0, 0, 0);
        for entry in scheduler::entries() {
            let mut scheduler = scheduler::build(entry.name).unwrap();
            for (i, views) in before.iter().enumerate() {
                scheduler.select(&context(views, i as u64, false, 1 << 20, 1 << 20));
            }
            for is_reinjection in [false, true] {
                let path = scheduler.select(&context(&subflows, 100, is_reinjection, 1 << 20, 1 << 20)).path;
                prop_assert_eq!(path, Some(working), "{}", entry.name);
            }
        }
    }
}

/// Names are unique, say who they are, and every parameter can be set to its default and to the ends of its range.
#[test]
fn the_registry_is_sound() {
    let mut names: Vec<_> = scheduler::entries().iter().map(|entry| entry.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), scheduler::entries().len());
    for entry in scheduler::entries() {
        assert!(!entry.summary.is_empty() && !entry.reference.is_empty());
        assert!(scheduler::build(entry.name).is_some());
        for spec in entry.params {
            let mut params = Params::defaults(entry.params);
            let values: Vec<ParamValue> = match (spec.kind, spec.default) {
                (Kind::Number { low, high, .. }, default) => {
                    vec![default, ParamValue::Number(low), ParamValue::Number(high)]
                }
                (Kind::Word(words), _) => words.iter().map(|word| ParamValue::Word(word)).collect(),
                (_, ParamValue::Flag(default)) => vec![ParamValue::Flag(!default)],
                (_, default) => vec![default],
            };
            for value in values {
                params.set(spec.name, value).unwrap();
                (entry.build)(&params);
            }
            (entry.build)(&params);
        }
    }
}
