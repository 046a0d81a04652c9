//! Loss recovery: its phases and their transitions. This module decides; [`Sender`](super::Sender) acts on the decisions.
//!
//! Reference: RFC 5681 §3.2, RFC 6582 (NewReno), RFC 6675 (SACK), RFC 8985 (RACK-TLP), RFC 6298 §5 (RTO), RFC 5682 (F-RTO,
//! `frto.rs`), RFC 3168 §6.1.2 (ECN), RFC 4015 (undo, `undo.rs`).
//! Differences from the references:
//! 1. States as in Linux: open, cwr (ECN), recovery, loss (after an RTO). Loss ends when everything sent before the RTO is
//!    acknowledged.
//! 2. An ECN reduction under `Recovery::Prr` is spread over the round, as in Linux, and lasts until something sent after it is
//!    acknowledged, so that CWR arrives (`tcp_fastretrans_alert`); otherwise it is immediate.
//! 3. A loss that a tail loss probe repaired cuts the window at once, without a recovery phase (as Linux).
//! 4. NewReno leaves recovery with cwnd = ssthresh (RFC 6582 step 3, option 2).
//! 5. Losses that are already known above the recovery point begin the next recovery with the ACK that ends this one, as in
//!    Linux; RFC 6675 (§5) waits for the next duplicate.
//!
//! Tested by packet scripts.

use super::ack::AckInfo;
use super::frto::{self, Evidence, Frto};
use super::stream::Stream;
use super::undo::Undo;
use crate::tcp::config::UndoConfig;

/// State of the sender, with Linux's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Open,
    /// Reduced for ECN-Echo, until the data sent before is acknowledged.
    Cwr,
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::Open => "open",
            Phase::Cwr => "cwr",
            Phase::Recovery => "recovery",
            Phase::Loss => "loss",
        }
    }
    /// The window is being reduced while ACKs arrive.
    pub fn is_reducing(self) -> bool {
        matches!(self, Phase::Recovery | Phase::Cwr)
    }
    pub fn is_repairing(self) -> bool {
        matches!(self, Phase::Recovery | Phase::Loss)
    }
}

/// The sender's reaction to an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Look for losses: one begins a fast recovery.
    Watch,
    /// Fast recovery goes on.
    Repair,
    /// The repair after a timeout goes on.
    RepairAll,
    Exit,
    /// The phase is over, and this ACK may begin the next (Reno).
    ExitAndWatch,
    /// An original filled a hole, while retransmissions are in flight.
    Hold,
    /// All is repaired, but without SACK the phase lasts until more is acknowledged.
    Linger,
    Undo,
}

#[derive(Debug, Default)]
pub(crate) struct Recovery {
    phase: Phase,
    /// Recovery point: SND.NXT when the phase began.
    point: u64,
    episode: Option<Box<Episode>>,
    /// RTOs without progress.
    consecutive_rtos: u32,
    frto: Frto,
    /// The next retransmission is sent regardless of the window (fast retransmit).
    is_forced: bool,
    /// Until the next ACK only new data is sent (F-RTO step 2.b, [`Step::Hold`]).
    is_new_data_only: bool,
}

/// Retransmissions since the window was reduced.
#[derive(Debug, Default)]
struct Episode {
    undo: Undo,
    retransmitted: u32,
    /// Those of them that are the first retransmission of a packet.
    repaired: u32,
}

impl Recovery {
    pub fn phase(&self) -> Phase {
        self.phase
    }
    pub fn point(&self) -> u64 {
        self.point
    }
    pub fn is_forced(&self) -> bool {
        self.is_forced
    }
    pub fn is_new_data_only(&self) -> bool {
        self.is_new_data_only
    }
    /// In fast recovery, below the recovery point.
    pub fn is_partial(&self, una: u64) -> bool {
        self.phase == Phase::Recovery && una < self.point
    }
    pub fn retransmitted(&self) -> u32 {
        self.episode.as_ref().map_or(0, |episode| episode.retransmitted)
    }

    pub fn repaired(&self) -> u32 {
        self.episode.as_ref().map_or(0, |episode| episode.repaired)
    }

    /// An ACK is about to be processed.
    pub fn on_segment(&mut self) {
        self.is_new_data_only = false;
    }
    /// SND.UNA moved.
    pub fn on_progress(&mut self) {
        self.consecutive_rtos = 0;
    }
    pub fn on_packet_sent(&mut self) {
        self.is_forced = false;
    }
    /// A packet was retransmitted at `timestamp`; `is_first`: for the first time.
    pub fn on_retransmit(&mut self, timestamp: u32, is_first: bool) {
        let episode = self.episode.get_or_insert_default();
        episode.undo.on_retransmit(timestamp);
        episode.retransmitted += 1;
        episode.repaired += u32::from(is_first);
    }
    /// A DSACK reports `packets` up to `right` as received twice.
    pub fn on_dsack(&mut self, right: u64, packets: u32) {
        if let Some(episode) = &mut self.episode {
            episode.undo.on_dsack(right, packets);
        }
    }
    /// `true`: a partial ACK showed the head lost, so its retransmission is sent at once.
    pub fn force(&mut self, is_forced: bool) {
        self.is_forced = is_forced;
    }

    /// ECN-Echo arrived, or had when the episode began: an undo will not restore the window (Linux `tcp_fastretrans_alert`, step A).
    pub fn demand_reduction(&mut self) {
        if let Some(episode) = &mut self.episode {
            episode.undo.demand();
        }
    }
    pub fn is_reduction_demanded(&self) -> bool {
        self.episode.as_ref().is_some_and(|episode| episode.undo.is_demanded())
    }

    /// The phase lasts although nothing from before its end is missing.
    pub fn is_at_point(&self, una: u64) -> bool {
        self.phase != Phase::Open && una == self.point
    }

    /// What an ACK means for the phase. `ends_with_progress`: the loss detection has no partial ACKs, so any progress ends the recovery.
    /// `holds_cwr`: a reduction for ECN-Echo ends only when something beyond its end is acknowledged; `lingers`: a recovery, too.
    pub fn on_ack(
        &mut self,
        tests: UndoConfig,
        info: &AckInfo,
        stream: &Stream,
        ends_with_progress: bool,
        holds_cwr: bool,
        lingers: bool,
    ) -> Step {
        let is_repairing = self.phase.is_repairing();
        let is_partial = info.is_advance && self.is_partial(stream.una());
        let shows_original = || self.episode.as_ref().is_some_and(|episode| episode.undo.shows_original(tests, info));
        if is_partial && info.has_repairs_out && shows_original() {
            self.is_new_data_only = true;
            return Step::Hold;
        }
        if self.episode.as_ref().is_some_and(|episode| episode.undo.is_spurious(tests, info, is_repairing)) {
            return Step::Undo;
        }
        let is_over = stream.una() >= self.point;
        if lingers && self.phase.is_repairing() && self.is_at_point(stream.una()) {
            return Step::Linger;
        }
        let phase = self.phase;
        match phase {
            Phase::Open => Step::Watch,
            Phase::Cwr => {
                if is_over && (!holds_cwr || stream.una() > self.point) {
                    self.phase = Phase::Open;
                }
                Step::Watch
            }
            Phase::Recovery if info.is_advance && ends_with_progress => Step::ExitAndWatch,
            Phase::Recovery => [Step::Repair, Step::Exit][usize::from(is_over)],
            Phase::Loss if self.is_rto_spurious(info, stream) => Step::Undo,
            Phase::Loss => [Step::RepairAll, Step::Exit][usize::from(is_over)],
        }
    }

    fn is_rto_spurious(&mut self, info: &AckInfo, stream: &Stream) -> bool {
        let step = self.frto.on_ack(Evidence {
            original_delivered: info.original_delivered,
            is_partial_advance: info.is_advance && stream.una() < self.point,
            is_duplicate: (info.is_duplicate && !info.has_dsack) || info.has_sacked,
            has_sent_new: stream.nxt() > self.point,
            can_send_new: stream.can_send_new(),
        });
        self.is_new_data_only |= step == frto::Step::SendNew;
        step == frto::Step::Undo
    }

    /// An episode begins that cannot be undone: an ECN-Echo, or a loss that a tail loss probe repaired.
    pub fn begin(&mut self, nxt: u64) {
        self.point = nxt;
        self.forget_undo();
    }
    /// The reduction for an ECN-Echo is under way.
    pub fn enter_cwr(&mut self) {
        self.phase = Phase::Cwr;
    }
    /// Fast recovery begins; `left` and `probes` as in [`Undo::start`].
    pub fn enter(&mut self, una: u64, point: u64, (left, probes): (Option<u32>, u32)) {
        let episode = self.episode.get_or_insert_default();
        episode.undo.start(una, left, probes);
        (episode.retransmitted, episode.repaired) = (0, 0);
        self.phase = Phase::Recovery;
        self.point = point;
    }

    /// The retransmission timer expired again without progress. Returns the number of consecutive expiries.
    pub fn count_rto(&mut self) -> u32 {
        self.consecutive_rtos += 1;
        self.consecutive_rtos
    }
    /// Everything is retransmitted. `undoable`: arguments of [`Undo::start`] if the window was reduced for this timeout.
    pub fn enter_loss(&mut self, tests: UndoConfig, nxt: u64, undoable: Option<(u64, Option<u32>, u32)>) {
        let is_first = !self.phase.is_repairing();
        let episode = self.episode.get_or_insert_default();
        if let Some((una, left, probes)) = undoable {
            episode.undo.start(una, left, probes);
        }
        (episode.retransmitted, episode.repaired) = (0, 0);
        self.frto = Frto::start(tests.frto, is_first, self.consecutive_rtos);
        self.phase = Phase::Loss;
        self.point = nxt;
        self.is_forced = true;
        self.is_new_data_only = false;
    }

    pub fn leave(&mut self) {
        self.phase = Phase::Open;
        self.frto = Frto::default();
        self.is_forced = false;
    }
    /// The reduction was spurious. Returns whether a timeout had caused it.
    pub fn undo(&mut self) -> bool {
        let was_rto = self.phase == Phase::Loss;
        self.forget_undo();
        self.consecutive_rtos = 0;
        self.leave();
        was_rto
    }

    fn forget_undo(&mut self) {
        if let Some(episode) = &mut self.episode {
            episode.undo.clear();
        }
    }
}
