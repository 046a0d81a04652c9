/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * BBR version 3: bounds what it has in flight by a model of the path and by loss.
 *
 * Reference: draft-ietf-ccwg-bbr-06, sections cited as §. Rules and deviations are those of the Rust control (crates/cc, bbr3.rs),
 * which this stands for. Differences from it:
 *  1. Losses are looked at once per ACK, not packet by packet: an ACK with losses is one range of them, and the packet that it
 *     delivered last stands for those that were lost. Linux tells a control no more.
 *  2. Random waits are the kernel's numbers; there is no seed.
 *  3. Marks (ECN) are not answered; `ecn_thresh` and `ecn_factor` are refused.
 *
 * Fixed point: windows in packets / 2^16, rates in packets/us / 2^32, gains and shares in 1/1000. Invariants: bw <= max_bw;
 * cwnd >= 4 except after a timeout. Tested against the Rust control event by event (crates/cc/tests/laws), and on the kernel (tests/testbed).
 */
#ifndef PLAYPATH_LAW_BBR3_H
#define PLAYPATH_LAW_BBR3_H

#include "law_filter.h"

/* No bound. */
#define BBR3_NONE (1ULL << 50)
#define BBR3_MAX_RATE (8ULL << 32)
#define BBR3_MAX_US (1ULL << 28)
/* §2.8, in packets */
#define BBR3_MIN_PIPE_CWND (4 * Q16)
/* §2.5: 4 ln 2, and 1 % below the estimate; thousandths */
#define BBR3_STARTUP_GAIN 2773
#define BBR3_MARGIN 990
/* §5.3.1.3 and §2.12 */
#define BBR3_FULL_LOSS_COUNT 6
#define BBR3_EXTRA_ACKED_ROUNDS 10
/* §5.3.3.8.2 */
#define BBR3_RENO_ROUNDS (63 * Q16)
/* §2.16 */
#define BBR3_MIN_RTT_US 10000000
#define BBR3_PROBE_RTT_INTERVAL_US 5000000
#define BBR3_PROBE_RTT_US 200000

enum bbr3_mode { BBR3_STARTUP, BBR3_DRAIN, BBR3_DOWN, BBR3_CRUISE, BBR3_REFILL, BBR3_UP, BBR3_PROBE_RTT, BBR3_NO_MODE };
enum bbr3_ack_phase { BBR3_INIT, BBR3_REFILLING, BBR3_STARTING, BBR3_FEEDBACK, BBR3_STOPPING };
enum bbr3_recovery { BBR3_OPEN, BBR3_FAST, BBR3_TIMEOUT };

struct bbr3_saved {
	u64 bw_short, short_q16, long_q16;
	u32 mode; /* to return to */
	u32 at; /* what was delivered then */
	bool is_there;
};

struct bbr3_state {
	u64 cwnd_q16, prior_q16;
	u64 initial_q16;
	u64 pacing; /* bytes/s; 0: none yet */
	u64 loss_thresh, beta, headroom; /* thousandths, of the parameters */
	bool has_bursts;
	/* §2.9 */
	u64 max_bw[2]; /* of the cycle before and of this one */
	u64 bw, bw_short;
	u64 short_q16, long_q16;
	/* the ACK's sample */
	u64 rate;
	u64 acked_q16;
	/* §2.10 */
	u64 latest_bw, latest_q16;
	/* §2.12 */
	u64 extra_start_us, extra_q16;
	struct law_filter extra;
	/* §2.13 */
	u64 full_bw;
	/* §2.14 */
	u64 wait_us, cycle_us;
	u64 up_acked_q16, up_per_inc_q16;
	/* §2.16; 0: none */
	u64 min_rtt_us, min_rtt_stamp_us;
	u64 delay_us, delay_stamp_us;
	u64 probe_rtt_done_us;
	struct bbr3_saved saved;
	u32 mode, recovery, ack_phase, ssthresh;
	u32 round, next_round_delivered, drain_round, loss_round_delivered;
	u32 lost_ranges, full_bw_count, rounds_since_up, up_rounds;
	u32 mark_start, mark_end; /* delivered when PROBE_RTT limited the sending, and until when that is felt */
	bool has_mark, has_seen_rtt, idle_restart;
	bool round_start, loss_round_start, is_loss_in_round, is_app_limited;
	bool limited_this_round, limited_last_round;
	bool full_bw_now, full_bw_reached;
	bool is_probe_sample, too_high, precautionary;
	bool is_delay_expired, probe_rtt_round_done;
};

LAW_INLINE void bbr3_init(struct bbr3_state *s, u32 initial_window)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->cwnd_q16 = s->initial_q16 = law_max(initial_window, 1) * Q16;
	s->ssthresh = LAW_SSTHRESH_INFINITE;
	s->bw_short = s->short_q16 = s->long_q16 = s->up_per_inc_q16 = BBR3_NONE;
	s->saved.mode = BBR3_NO_MODE;
}

LAW_INLINE u64 bbr3_cwnd(const struct bbr3_state *s)
{
	return s->cwnd_q16 >> 16;
}

LAW_INLINE u32 bbr3_ssthresh(const struct bbr3_state *s)
{
	return s->ssthresh;
}

/* a is b or comes after it, of counters that wrap. */
LAW_INLINE bool bbr3_reaches(u32 a, u32 b)
{
	return (s32)(a - b) >= 0;
}

LAW_INLINE u64 bbr3_max_bw(const struct bbr3_state *s)
{
	return law_max(s->max_bw[0], s->max_bw[1]);
}

/* The steps of on_ack are checked alone and get no block: what they need of it is in the state. */
LAW_INLINE void bbr3_settle(struct bbr3_state *s, const u32 *param)
{
	s->loss_thresh = LAW_PARAM(param, BBR3_LOSS_THRESH);
	s->beta = LAW_PARAM(param, BBR3_BETA);
	s->headroom = LAW_PARAM(param, BBR3_HEADROOM);
	s->has_bursts = param[BBR3_QUANTUM] == BBR3_QUANTUM_LINUX;
}

/* §5.6.4.2 */
LAW_INLINE u64 bbr3_bdp_q16(const struct bbr3_state *s, u64 bw)
{
	if (!s->min_rtt_us)
		return s->initial_q16;
	return law_min(bw * s->min_rtt_us >> 16, LAW_MAX_WINDOW * Q16);
}

/* §5.6.3, §5.6.4.2, §5.5.8.1: three quanta of a millisecond each */
LAW_INLINE u64 bbr3_with_budget(const struct bbr3_state *s, u64 cap, u32 mss)
{
	u64 quantum = law_min(law_min(s->pacing, 1ULL << 40) * Q16 / 1000, 65536 * Q16) / (mss ? mss : 1);

	quantum = s->has_bursts ? law_max(quantum, 2 * Q16) : Q16;
	cap = law_max(law_max(cap, 3 * quantum), BBR3_MIN_PIPE_CWND);
	return s->mode == BBR3_UP ? cap + 2 * Q16 : cap;
}

LAW_INLINE u64 bbr3_inflight(const struct bbr3_state *s, u64 bw, u32 mss)
{
	return bbr3_with_budget(s, bbr3_bdp_q16(s, bw), mss);
}

LAW_INLINE u64 bbr3_target_inflight(const struct bbr3_state *s)
{
	return law_min(bbr3_bdp_q16(s, s->bw), s->cwnd_q16);
}

LAW_INLINE u64 bbr3_with_headroom(const struct bbr3_state *s)
{
	u64 room = law_max(s->long_q16 * s->headroom / 1000, Q16);

	return s->long_q16 == BBR3_NONE ? BBR3_NONE : law_max(law_positive(s->long_q16 - room), BBR3_MIN_PIPE_CWND);
}

LAW_INLINE void bbr3_save_cwnd(struct bbr3_state *s)
{
	bool is_held = s->recovery != BBR3_OPEN || s->mode == BBR3_PROBE_RTT;

	s->prior_q16 = is_held ? law_max(s->prior_q16, s->cwnd_q16) : s->cwnd_q16;
}

LAW_INLINE void bbr3_restore_cwnd(struct bbr3_state *s)
{
	s->cwnd_q16 = law_max(s->cwnd_q16, s->prior_q16);
}

LAW_INLINE void bbr3_reset_short(struct bbr3_state *s)
{
	s->bw_short = s->short_q16 = BBR3_NONE;
}

LAW_INLINE void bbr3_reset_full_bw(struct bbr3_state *s, u64 baseline)
{
	s->full_bw = baseline;
	s->full_bw_count = 0;
	s->full_bw_now = false;
}

/* §5.3.3.9, §5.3.3.8.3 */
LAW_INLINE void bbr3_start_down(struct bbr3_state *s, const struct law_view *view)
{
	s->is_loss_in_round = false;
	s->latest_bw = s->latest_q16 = 0;
	s->up_per_inc_q16 = BBR3_NONE;
	s->rounds_since_up = view->random & 1;
	s->wait_us = 2000000 + ((u64)(view->random >> 1) * 1000000 >> 31);
	s->cycle_us = view->now_us;
	s->ack_phase = BBR3_STOPPING;
	s->next_round_delivered = view->delivered;
	s->mode = BBR3_DOWN;
}

LAW_INLINE void bbr3_start_refill(struct bbr3_state *s, const struct law_view *view)
{
	bbr3_reset_short(s);
	s->up_rounds = 0;
	s->up_acked_q16 = 0;
	s->precautionary = false;
	s->ack_phase = BBR3_REFILLING;
	s->next_round_delivered = view->delivered;
	s->mode = BBR3_REFILL;
}

/* Growth of 1, 2, 4, ... packets a round trip. */
LAW_INLINE void bbr3_raise_slope(struct bbr3_state *s)
{
	s->up_per_inc_q16 = law_max(s->cwnd_q16 >> law_min(s->up_rounds, 30), Q16);
	s->up_rounds = law_min(s->up_rounds + 1, 30);
}

LAW_INLINE void bbr3_start_up(struct bbr3_state *s, const struct law_view *view)
{
	s->is_probe_sample = true;
	s->ack_phase = BBR3_STARTING;
	s->next_round_delivered = view->delivered;
	bbr3_reset_full_bw(s, s->rate);
	s->mode = BBR3_UP;
	bbr3_raise_slope(s);
}

/* §5.5.11.1, once per moment */
LAW_INLINE void bbr3_save_state(struct bbr3_state *s, const struct law_view *view)
{
	if (s->saved.is_there && s->saved.at == view->delivered)
		return;
	bbr3_save_cwnd(s);
	s->saved.bw_short = s->bw_short;
	s->saved.short_q16 = s->short_q16;
	s->saved.long_q16 = s->long_q16;
	s->saved.mode = BBR3_NO_MODE;
	s->saved.at = view->delivered;
	s->saved.is_there = true;
}

LAW_INLINE void bbr3_note_loss(struct bbr3_state *s, const struct law_view *view)
{
	if (!s->is_loss_in_round) {
		s->loss_round_delivered = view->delivered;
		bbr3_save_state(s, view);
	}
	s->is_loss_in_round = true;
}

/* §5.5.10.2 */
LAW_INLINE bool bbr3_too_high(const struct bbr3_state *s, const struct law_ack *ack)
{
	return ack->rate_delivered &&
	       (u64)ack->lost_since_sent * BBR3_LOSS_THRESH_SCALE > ack->tx_in_flight * s->loss_thresh;
}

/* What was in flight when losses crossed the threshold, within the last packet. */
LAW_INLINE u64 bbr3_inflight_at_loss(const struct bbr3_state *s, const struct law_ack *ack)
{
	u64 threshold = s->loss_thresh;
	u64 inflight_before = law_positive((s64)ack->tx_in_flight - 1);
	s64 prefix = (s64)(threshold * inflight_before) - ((s64)ack->lost_since_sent - 1) * BBR3_LOSS_THRESH_SCALE;

	return inflight_before * Q16 + law_min(law_positive(prefix) * Q16 / (BBR3_LOSS_THRESH_SCALE - threshold), Q16);
}

LAW_INLINE void bbr3_take_loss(struct bbr3_state *s, const struct law_view *view, const struct law_ack *ack)
{
	bbr3_note_loss(s, view);
	s->lost_ranges++;
	if (!s->is_probe_sample || !bbr3_too_high(s, ack))
		return;
	s->too_high = true;
	s->is_probe_sample = false;
	if (!ack->rate_app_limited)
		s->long_q16 = law_max(bbr3_inflight_at_loss(s, ack), bbr3_target_inflight(s) * s->beta / 1000);
	if (s->mode == BBR3_UP) {
		s->saved.mode = BBR3_UP;
		bbr3_start_down(s, view);
	}
}

LAW_CHECKED_ALONE int bbr3_take_losses(struct bbr3_state *s LAW_GIVEN, const struct law_view *view LAW_GIVEN, const struct law_ack *ack LAW_GIVEN)
{
	if (ack->newly_lost)
		bbr3_take_loss(s, view, ack);
	return 0;
}

LAW_INLINE void bbr3_take_sample(struct bbr3_state *s, const struct law_ack *ack)
{
	u32 at = ack->prior_delivered;
	bool is_marked = s->has_mark && bbr3_reaches(at, s->mark_start) && bbr3_reaches(s->mark_end, at);

	s->acked_q16 = ack->delivered * Q16;
	s->rate = 0;
	s->is_app_limited = ack->rate_delivered && (ack->rate_app_limited || is_marked);
	if (ack->rate_delivered && ack->rate_interval_us)
		s->rate = law_min(((u64)ack->rate_delivered << 32) / ack->rate_interval_us, BBR3_MAX_RATE);
}

/* §5.5.10.3, §5.5.5, §5.5.1 */
LAW_CHECKED_ALONE int bbr3_update_signals(struct bbr3_state *s LAW_GIVEN, const struct law_view *view LAW_GIVEN, const struct law_ack *ack LAW_GIVEN)
{
	bool is_probing = s->mode == BBR3_STARTUP || s->mode == BBR3_REFILL || s->mode == BBR3_UP;

	s->latest_bw = law_max(s->latest_bw, s->rate);
	s->latest_q16 = law_max(s->latest_q16, ack->rate_delivered * Q16);
	s->loss_round_start = ack->rate_delivered && bbr3_reaches(ack->prior_delivered, s->loss_round_delivered);
	if (s->loss_round_start)
		s->loss_round_delivered = view->delivered;
	s->round_start = ack->rate_delivered && bbr3_reaches(ack->prior_delivered, s->next_round_delivered);
	if (s->round_start) {
		s->next_round_delivered = view->delivered;
		s->round++;
		s->rounds_since_up++;
		s->limited_last_round = s->limited_this_round;
		s->limited_this_round = false;
	}
	if (s->rate && (s->rate >= bbr3_max_bw(s) || !s->is_app_limited))
		s->max_bw[1] = law_max(s->max_bw[1], s->rate);
	if (!s->loss_round_start)
		return 0;
	if (s->is_loss_in_round && !is_probing) {
		u64 bw = s->bw_short == BBR3_NONE ? bbr3_max_bw(s) : s->bw_short;
		u64 inflight = s->short_q16 == BBR3_NONE ? s->cwnd_q16 : s->short_q16;

		s->bw_short = law_max(s->latest_bw, bw * s->beta / 1000);
		s->short_q16 = law_max(s->latest_q16, inflight * s->beta / 1000);
	}
	s->is_loss_in_round = false;
	return 0;
}

/* §5.5.9 */
LAW_CHECKED_ALONE int bbr3_update_aggregation(struct bbr3_state *s LAW_GIVEN, const struct law_view *view LAW_GIVEN)
{
	u64 expected = s->bw * law_min(view->now_us - s->extra_start_us, BBR3_MAX_US) >> 16;

	if (s->extra_q16 <= expected) {
		s->extra_q16 = 0;
		s->extra_start_us = view->now_us;
		expected = 0;
	}
	s->extra_q16 += s->acked_q16;
	law_filter_add(&s->extra, s->full_bw_reached ? BBR3_EXTRA_ACKED_ROUNDS : 1, s->round,
		       law_min(s->extra_q16 - expected, s->cwnd_q16), true);
	return 0;
}

/* §5.3.1.2, §5.3.1.3 */
LAW_INLINE void bbr3_check_full_bw(struct bbr3_state *s)
{
	if (s->full_bw_now || !s->round_start || s->is_app_limited)
		return;
	if (s->rate * 4 >= s->full_bw * 5) {
		bbr3_reset_full_bw(s, s->rate);
		return;
	}
	s->full_bw_count++;
	s->full_bw_now = s->full_bw_count >= 3;
	s->full_bw_reached |= s->full_bw_now;
}

LAW_CHECKED_ALONE int bbr3_check_startup(struct bbr3_state *s LAW_GIVEN, const struct law_view *view LAW_GIVEN, const struct law_ack *ack LAW_GIVEN)
{
	if (!s->full_bw_reached && s->loss_round_start && s->recovery == BBR3_FAST &&
	    s->lost_ranges >= BBR3_FULL_LOSS_COUNT && bbr3_too_high(s, ack)) {
		s->saved.mode = BBR3_STARTUP;
		s->full_bw_now = true;
		s->full_bw_reached = true;
		s->long_q16 = law_max(bbr3_bdp_q16(s, s->bw), s->latest_q16);
	}
	if (s->mode == BBR3_STARTUP && s->full_bw_reached) {
		s->mode = BBR3_DRAIN;
		s->drain_round = s->round;
		s->ssthresh = bbr3_inflight(s, bbr3_max_bw(s), view->mss) >> 16;
	}
	/* §5.3.2 */
	if (s->mode == BBR3_DRAIN && (view->in_flight * Q16 <= bbr3_inflight(s, s->bw, view->mss) ||
				      s->round > s->drain_round + 3))
		bbr3_start_down(s, view);
	return 0;
}

LAW_INLINE bool bbr3_is_in_probe_bw(const struct bbr3_state *s)
{
	return s->mode >= BBR3_DOWN && s->mode <= BBR3_UP;
}

LAW_INLINE void bbr3_probe_upward(struct bbr3_state *s)
{
	u64 more;

	if (!(s->limited_this_round || s->limited_last_round) || s->cwnd_q16 < s->long_q16)
		return;
	s->up_acked_q16 += s->acked_q16;
	if (s->up_acked_q16 >= s->up_per_inc_q16) {
		more = s->up_acked_q16 / s->up_per_inc_q16;
		s->up_acked_q16 -= more * s->up_per_inc_q16;
		s->long_q16 += more * Q16;
	}
	if (s->round_start)
		bbr3_raise_slope(s);
}

/* §5.3.3.6: the last samples of a probe are in; one that stopped early and did no harm is repeated. True: it is. */
LAW_INLINE bool bbr3_end_feedback(struct bbr3_state *s, const struct law_view *view)
{
	s->is_probe_sample = false;
	s->ack_phase = BBR3_INIT;
	if (!bbr3_is_in_probe_bw(s))
		return false;
	if (!s->is_app_limited && s->max_bw[1]) {
		s->max_bw[0] = s->max_bw[1];
		s->max_bw[1] = 0;
	}
	if (!s->precautionary || s->too_high)
		return false;
	bbr3_start_refill(s, view);
	return true;
}

/* §5.3.3.9 AdaptLongTermModel. True: a transition was made. */
LAW_INLINE bool bbr3_adapt_long(struct bbr3_state *s, const struct law_view *view,
				const struct law_ack *ack)
{
	if (s->round_start && s->ack_phase == BBR3_STARTING)
		s->ack_phase = BBR3_FEEDBACK;
	if (s->round_start && s->ack_phase == BBR3_STOPPING && bbr3_end_feedback(s, view))
		return true;
	if (bbr3_too_high(s, ack) || s->long_q16 == BBR3_NONE)
		return false;
	if (ack->rate_delivered)
		s->long_q16 = law_max(s->long_q16, ack->tx_in_flight * Q16);
	if (s->mode == BBR3_UP)
		bbr3_probe_upward(s);
	return false;
}

LAW_INLINE void bbr3_go_down_in_time(struct bbr3_state *s, const struct law_view *view)
{
	bool is_time = s->full_bw_now;

	if (s->too_high && view->in_flight * Q16 >= s->long_q16) {
		s->precautionary = true;
		is_time = true;
	} else if ((s->limited_this_round || s->limited_last_round) && s->cwnd_q16 >= s->long_q16) {
		/* The bound limits the bandwidth: no plateau can be told. */
		bbr3_reset_full_bw(s, s->rate);
		is_time = false;
	}
	if (is_time) {
		s->too_high = false;
		bbr3_start_down(s, view);
	}
}

LAW_CHECKED_ALONE int bbr3_update_cycle(struct bbr3_state *s LAW_GIVEN, const struct law_view *view LAW_GIVEN, const struct law_ack *ack LAW_GIVEN)
{
	u64 in_flight = view->in_flight * Q16;

	if (!s->full_bw_reached || bbr3_adapt_long(s, view, ack))
		return 0;
	if (s->mode == BBR3_DOWN || s->mode == BBR3_CRUISE) {
		if (view->now_us > s->cycle_us + s->wait_us ||
		    s->rounds_since_up * Q16 >= law_min(bbr3_target_inflight(s), BBR3_RENO_ROUNDS))
			bbr3_start_refill(s, view);
		else if (s->mode == BBR3_DOWN && in_flight <= bbr3_with_headroom(s) &&
			 in_flight <= bbr3_inflight(s, bbr3_max_bw(s), view->mss))
			s->mode = BBR3_CRUISE;
	} else if (s->mode == BBR3_REFILL && s->round_start) {
		bbr3_start_up(s, view);
	} else if (s->mode == BBR3_UP) {
		bbr3_go_down_in_time(s, view);
	}
	return 0;
}

/* §5.3.4.3 */
LAW_CHECKED_ALONE int bbr3_update_min_rtt(struct bbr3_state *s LAW_GIVEN, const struct law_view *view LAW_GIVEN, const struct law_ack *ack LAW_GIVEN)
{
	u64 rtt_us = law_min(ack->rtt_us, BBR3_MAX_US);

	s->is_delay_expired = view->now_us > s->delay_stamp_us + BBR3_PROBE_RTT_INTERVAL_US;
	if (rtt_us && (s->is_delay_expired || !s->delay_us || rtt_us < s->delay_us)) {
		s->delay_us = rtt_us;
		s->delay_stamp_us = view->now_us;
	}
	if (s->delay_us && (view->now_us > s->min_rtt_stamp_us + BBR3_MIN_RTT_US || !s->min_rtt_us ||
			    s->delay_us < s->min_rtt_us)) {
		s->min_rtt_us = s->delay_us;
		s->min_rtt_stamp_us = s->delay_stamp_us;
	}
	return 0;
}

LAW_INLINE u64 bbr3_probe_rtt_cwnd(const struct bbr3_state *s)
{
	return law_max(bbr3_bdp_q16(s, s->bw) / 2, BBR3_MIN_PIPE_CWND);
}

LAW_INLINE void bbr3_end_probe_rtt_in_time(struct bbr3_state *s, const struct law_view *view)
{
	if (!s->probe_rtt_done_us || view->now_us <= s->probe_rtt_done_us)
		return;
	s->delay_stamp_us = view->now_us;
	bbr3_restore_cwnd(s);
	bbr3_reset_short(s);
	s->mode = BBR3_STARTUP;
	if (s->full_bw_reached) {
		bbr3_start_down(s, view);
		s->mode = BBR3_CRUISE;
	}
}

LAW_INLINE void bbr3_in_probe_rtt(struct bbr3_state *s, const struct law_view *view, const struct law_ack *ack)
{
	u32 before = view->delivered - ack->delivered;

	if (!s->has_mark || !bbr3_reaches(s->mark_end, before))
		s->mark_start = view->delivered;
	s->mark_end = view->delivered + view->in_flight;
	s->has_mark = true;
	if (!s->probe_rtt_done_us) {
		if (view->in_flight * Q16 > bbr3_probe_rtt_cwnd(s))
			return;
		s->probe_rtt_done_us = view->now_us + BBR3_PROBE_RTT_US;
		s->probe_rtt_round_done = false;
		s->next_round_delivered = view->delivered;
		return;
	}
	s->probe_rtt_round_done |= s->round_start;
	if (s->probe_rtt_round_done)
		bbr3_end_probe_rtt_in_time(s, view);
}

LAW_CHECKED_ALONE int bbr3_check_probe_rtt(struct bbr3_state *s LAW_GIVEN, const struct law_view *view LAW_GIVEN, const struct law_ack *ack LAW_GIVEN)
{
	if (s->mode != BBR3_PROBE_RTT && s->is_delay_expired && !s->idle_restart) {
		bbr3_save_cwnd(s);
		s->mode = BBR3_PROBE_RTT;
		s->probe_rtt_done_us = 0;
		s->ack_phase = BBR3_STOPPING;
		s->next_round_delivered = view->delivered;
	}
	if (s->mode == BBR3_PROBE_RTT)
		bbr3_in_probe_rtt(s, view, ack);
	if (ack->delivered)
		s->idle_restart = false;
	return 0;
}

/* §5.6.1, thousandths */
LAW_INLINE u64 bbr3_pacing_gain(const struct bbr3_state *s)
{
	switch (s->mode) {
	case BBR3_STARTUP:
		return BBR3_STARTUP_GAIN;
	case BBR3_DRAIN:
		return 500;
	case BBR3_DOWN:
		return 900;
	case BBR3_UP:
		return 1250;
	default:
		return 1000;
	}
}

/* §5.6.2; 1 ms stands for an RTT not yet measured */
LAW_INLINE void bbr3_init_pacing(struct bbr3_state *s, const struct law_view *view)
{
	s->has_seen_rtt = view->srtt_us;
	s->pacing = (s->initial_q16 >> 16) * view->mss * BBR3_STARTUP_GAIN * 1000 / (view->srtt_us ? view->srtt_us : 1000);
}

LAW_INLINE void bbr3_set_pacing(struct bbr3_state *s, const struct law_view *view, u64 gain)
{
	u64 rate = ((s->bw * law_min(view->mss, 65535) >> 16) * (gain * BBR3_MARGIN)) >> 16;

	if (s->full_bw_reached || rate > s->pacing)
		s->pacing = law_max(rate, 1);
}

/* §5.5.10.3, and what follows from the model */
LAW_CHECKED_ALONE int bbr3_advance(struct bbr3_state *s LAW_GIVEN, const struct law_view *view LAW_GIVEN, const struct law_ack *ack LAW_GIVEN)
{
	if (s->loss_round_start) {
		s->latest_bw = s->rate;
		s->latest_q16 = ack->rate_delivered * Q16;
		s->lost_ranges = 0;
	}
	s->bw = law_min(bbr3_max_bw(s), s->bw_short);
	if (!s->has_seen_rtt && view->srtt_us)
		bbr3_init_pacing(s, view);
	bbr3_set_pacing(s, view, bbr3_pacing_gain(s));
	return 0;
}

/* §5.6.4.6, §5.6.4.7 */
LAW_CHECKED_ALONE int bbr3_set_cwnd(struct bbr3_state *s LAW_GIVEN, const struct law_view *view LAW_GIVEN)
{
	u64 gain = s->mode == BBR3_UP ? 2250 : s->mode == BBR3_PROBE_RTT ? 500 : 2000;
	u64 most = bbr3_with_budget(s, bbr3_bdp_q16(s, s->bw) * gain / 1000 + s->extra.best.value, view->mss);
	u64 cap = s->mode <= BBR3_DRAIN ? BBR3_NONE : s->long_q16;

	if (s->mode == BBR3_CRUISE || s->mode == BBR3_PROBE_RTT)
		cap = bbr3_with_headroom(s);
	if (s->full_bw_reached)
		s->cwnd_q16 = law_min(s->cwnd_q16 + s->acked_q16, most);
	else if (s->cwnd_q16 < most || view->delivered * Q16 < s->initial_q16)
		s->cwnd_q16 += s->acked_q16;
	s->cwnd_q16 = law_max(s->cwnd_q16, BBR3_MIN_PIPE_CWND);
	if (s->mode == BBR3_PROBE_RTT)
		s->cwnd_q16 = law_min(s->cwnd_q16, bbr3_probe_rtt_cwnd(s));
	s->cwnd_q16 = law_min(s->cwnd_q16, law_max(law_min(cap, s->short_q16), BBR3_MIN_PIPE_CWND));
	s->cwnd_q16 = law_min(s->cwnd_q16, LAW_MAX_WINDOW * Q16);
	return 0;
}

LAW_INLINE void bbr3_on_start(struct bbr3_state *s, const struct law_view *view)
{
	s->min_rtt_us = s->delay_us = view->srtt_us;
	s->min_rtt_stamp_us = s->delay_stamp_us = s->extra_start_us = view->now_us;
	s->next_round_delivered = view->delivered;
	bbr3_init_pacing(s, view);
}

/* §5.2.3, in the draft's order */
LAW_INLINE void bbr3_on_ack(struct bbr3_state *s, const u32 *param, const struct law_view *view, const struct law_ack *ack)
{
	bbr3_settle(s, param);
	/* In flight only grows between ACKs: the window was full if it is when the next one comes. */
	s->limited_this_round |= ack->prior_in_flight >= bbr3_cwnd(s);
	bbr3_take_losses(s, view, ack);
	bbr3_take_sample(s, ack);
	bbr3_update_signals(s, view, ack);
	bbr3_update_aggregation(s, view);
	bbr3_check_full_bw(s);
	bbr3_check_startup(s, view, ack);
	bbr3_update_cycle(s, view, ack);
	bbr3_update_min_rtt(s, view, ack);
	bbr3_check_probe_rtt(s, view, ack);
	bbr3_advance(s, view, ack);
	bbr3_set_cwnd(s, view);
}

/* §5.6.4.4 */
LAW_INLINE void bbr3_on_congestion(struct bbr3_state *s, const u32 *param, const struct law_view *view, bool is_ecn)
{
	if (is_ecn)
		return;
	bbr3_save_cwnd(s);
	bbr3_save_state(s, view);
	s->recovery = BBR3_FAST;
}

LAW_INLINE void bbr3_on_recovery_exit(struct bbr3_state *s)
{
	if (s->recovery == BBR3_OPEN)
		return;
	s->recovery = BBR3_OPEN;
	bbr3_restore_cwnd(s);
}

LAW_INLINE void bbr3_on_rto(struct bbr3_state *s, const u32 *param, const struct law_view *view, bool is_first)
{
	bbr3_save_cwnd(s);
	bbr3_save_state(s, view);
	s->recovery = BBR3_TIMEOUT;
	s->cwnd_q16 = (view->in_flight + 1) * Q16;
}

/* §5.5.11.2 */
LAW_INLINE void bbr3_on_undo(struct bbr3_state *s, const struct law_view *view)
{
	u32 mode = s->saved.mode;

	s->recovery = BBR3_OPEN;
	bbr3_restore_cwnd(s);
	s->is_loss_in_round = false;
	bbr3_reset_full_bw(s, 0);
	s->bw_short = law_max(s->bw_short, s->saved.bw_short);
	s->short_q16 = law_max(s->short_q16, s->saved.short_q16);
	s->long_q16 = law_max(s->long_q16, s->saved.long_q16);
	s->saved = (struct bbr3_saved){ .mode = BBR3_NO_MODE };
	if (mode == BBR3_STARTUP && s->mode != BBR3_STARTUP) {
		s->full_bw_reached = false;
		if (s->mode != BBR3_PROBE_RTT)
			s->mode = BBR3_STARTUP;
	} else if (mode == BBR3_UP && s->mode != BBR3_UP && s->mode != BBR3_PROBE_RTT) {
		bbr3_start_refill(s, view);
	}
}

/* §5.4.1 */
LAW_INLINE void bbr3_on_wake(struct bbr3_state *s, const struct law_view *view)
{
	if (!view->is_app_limited && !(s->has_mark && bbr3_reaches(s->mark_end, view->delivered)))
		return;
	s->idle_restart = true;
	s->extra_start_us = view->now_us;
	s->extra_q16 = 0;
	if (bbr3_is_in_probe_bw(s))
		bbr3_set_pacing(s, view, 1000);
	else if (s->mode == BBR3_PROBE_RTT)
		bbr3_end_probe_rtt_in_time(s, view);
}

#endif
