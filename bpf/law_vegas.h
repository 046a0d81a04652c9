/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Vegas by its authors' rules: the window part.
 *
 * Reference: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13 (1995), with
 * the arithmetic of ns-2.35 as the Rust control `vegas` of crates/cc has it. Per round trip, with the mean of its RTT samples:
 * Diff = flight - sent base_rtt / rtt, in packets, rounded to the nearest whole one. Slow start grows every other round and
 * ends at Diff > gamma with 7/8 of the window; afterwards Diff < alpha: +1, Diff > beta: -1, else hold.
 *
 * Differences from the reference:
 *  1. **Early retransmission is missing** (the fine timeout checked on duplicate ACKs): Linux does not let a congestion
 *     control retransmit. So is the half cut of a segment lost twice, which Linux does not report.
 *  2. Linux leads the window from the old value to the new one (PRR) where ns-2 inflates it.
 *  3. In a round with ACKs of two packets or more those of one are not counted: the receiver may have held them back.
 *  4. Linux's own tcp_vegas differs in most rules (minimum RTT, slow start in every round, Reno's cut): see `vegas-linux`.
 *
 * Fixed point: windows in 1/65536 packet, times in microseconds. Tested against the Rust controller (crates/cc/tests/laws).
 */
#ifndef PLAYPATH_LAW_VEGAS_H
#define PLAYPATH_LAW_VEGAS_H

#include "law.h"

#define VEGAS_MIN_WINDOW 2

struct vegas_state {
	u64 cwnd_q16;
	u32 ssthresh;
	u32 base_rtt_us; /* 0: none yet */
	u64 increment_q16; /* per ACK until the round ends */
	u64 round_start_us;
	u64 round_rtt_sum_us;
	u32 round_rtt_count;
	u32 round_sent; /* value of the sent counter at the round's start */
	s32 diff; /* of the last round */
	bool grows_this_round;
	bool waits_for_pairs; /* this round has seen an ACK of two packets or more */
};

LAW_INLINE void vegas_init(struct vegas_state *s, u32 initial_window)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->cwnd_q16 = initial_window * Q16;
	s->ssthresh = LAW_SSTHRESH_INFINITE;
	s->grows_this_round = true;
}

LAW_INLINE u32 vegas_cwnd(const struct vegas_state *s)
{
	return s->cwnd_q16 >> 16;
}

LAW_INLINE void vegas_adopt(struct vegas_state *s, u32 cwnd, u32 ssthresh)
{
	s->cwnd_q16 = cwnd * Q16;
	s->ssthresh = ssthresh;
	s->increment_q16 = 0;
}

LAW_INLINE bool vegas_in_slow_start(const struct vegas_state *s)
{
	return s->cwnd_q16 < s->ssthresh * Q16;
}

LAW_INLINE void vegas_judge(struct vegas_state *s, const u32 *param)
{
	s->increment_q16 = 0;
	if (vegas_in_slow_start(s)) {
		s->grows_this_round = !s->grows_this_round;
		if (!s->grows_this_round)
			return;
		if (s->diff * (s64)VEGAS_GAMMA_SCALE > (s64)LAW_PARAM(param, VEGAS_GAMMA)) {
			/* Slow start has filled the pipe: 7/8 of the window, and congestion avoidance. */
			s->cwnd_q16 = law_max(s->cwnd_q16 - s->cwnd_q16 / 8, VEGAS_MIN_WINDOW * Q16);
			s->ssthresh = VEGAS_MIN_WINDOW;
		} else {
			s->increment_q16 = Q16;
		}
	} else if (s->diff * (s64)VEGAS_BETA_SCALE > (s64)LAW_PARAM(param, VEGAS_BETA)) {
		u64 low = law_min(VEGAS_MIN_WINDOW * Q16, s->cwnd_q16);

		s->cwnd_q16 = s->cwnd_q16 > low + Q16 ? s->cwnd_q16 - Q16 : low;
		s->ssthresh = law_max(law_min(s->ssthresh, vegas_cwnd(s)), VEGAS_MIN_WINDOW);
	} else if (s->diff * (s64)VEGAS_ALPHA_SCALE < (s64)LAW_PARAM(param, VEGAS_ALPHA)) {
		u64 window = law_max(s->cwnd_q16, Q16);

		/* Rounded up: a round's increments must make a whole packet, for a cut counts whole packets. */
		s->increment_q16 = ((Q16 << 16) + window - 1) / window;
	}
}

/* floor(flight - expected + 1/2): an arithmetic shift rounds down, also below zero. */
LAW_INLINE s32 vegas_diff(u64 flight, u64 expected_q16)
{
	return ((s64)(flight << 16) - (s64)expected_q16 + (s64)(Q16 / 2)) >> 16;
}

LAW_INLINE void vegas_end_round(struct vegas_state *s, const u32 *param, const struct law_view *view, u32 delivered)
{
	u32 sent = view->sent - s->round_sent;
	u64 flight = view->flight_size + delivered;
	int is_clean = s->round_rtt_count > 0;
	/* The mean of the clean samples; without any, the length of the round. */
	u64 rtt = is_clean ? s->round_rtt_sum_us / s->round_rtt_count : view->now_us - s->round_start_us;

	s->round_start_us = view->now_us;
	s->round_sent = view->sent;
	s->round_rtt_sum_us = 0;
	s->round_rtt_count = 0;
	s->waits_for_pairs = false;
	if (!rtt)
		return;
	/* A round of one packet measures the path without the sender's own queue; one without a clean sample measures nothing. */
	if (is_clean && (!s->base_rtt_us || rtt < s->base_rtt_us || sent <= 1))
		s->base_rtt_us = rtt;
	/* Without a base, nothing is known to wait in a queue. */
	s->diff = s->base_rtt_us ? vegas_diff(flight, ((u64)sent << 16) * s->base_rtt_us / rtt) : 0;
	vegas_judge(s, param);
}

LAW_INLINE void vegas_on_rtt(struct vegas_state *s, u32 rtt_us)
{
	if (!rtt_us)
		return;
	if (!s->base_rtt_us || rtt_us < s->base_rtt_us)
		s->base_rtt_us = rtt_us;
	s->round_rtt_sum_us += rtt_us;
	s->round_rtt_count++;
}

/* Where the receiver waits for a second packet, the ACK of a lone one may have been held back: it says nothing of a queue. */
LAW_INLINE void vegas_take_rtt(struct vegas_state *s, const struct law_ack *ack)
{
	bool is_lone = ack->delivered <= 1;

	if (!ack->rtt_us)
		return;
	if (!is_lone && !s->waits_for_pairs) {
		s->waits_for_pairs = true;
		s->round_rtt_sum_us = 0;
		s->round_rtt_count = 0;
	}
	if (!is_lone || !s->waits_for_pairs)
		vegas_on_rtt(s, ack->rtt_us);
	else if (ack->rtt_us < s->base_rtt_us)
		s->base_rtt_us = ack->rtt_us;
}

LAW_INLINE void vegas_on_ack(struct vegas_state *s, const u32 *param, const struct law_view *view, const struct law_ack *ack)
{
	if (ack->round_start)
		vegas_end_round(s, param, view, ack->delivered);
	/* Slow start may pass the threshold before the round is over. */
	if (s->increment_q16 == Q16 && !vegas_in_slow_start(s))
		s->increment_q16 = 0;
	if (ack->may_grow)
		s->cwnd_q16 = law_min(s->cwnd_q16 + s->increment_q16, LAW_MAX_WINDOW * Q16);
	vegas_take_rtt(s, ack);
}

/* 3/4 of the window in whole packets as ns-2 computes; at most 3 become 2. Returns the new ssthresh. */
LAW_INLINE u32 vegas_on_congestion(struct vegas_state *s)
{
	u32 window = vegas_cwnd(s);

	window = window <= 3 ? VEGAS_MIN_WINDOW : window - window / 4;
	s->ssthresh = window;
	s->cwnd_q16 = law_min(s->cwnd_q16, window * Q16);
	s->increment_q16 = 0;
	return s->ssthresh;
}

LAW_INLINE void vegas_on_recovery_exit(struct vegas_state *s)
{
	s->ssthresh = VEGAS_MIN_WINDOW;
}

LAW_INLINE void vegas_on_rto(struct vegas_state *s, bool is_first)
{
	if (is_first)
		s->ssthresh = law_max(vegas_cwnd(s) / 2, VEGAS_MIN_WINDOW);
	s->cwnd_q16 = VEGAS_MIN_WINDOW * Q16;
	s->increment_q16 = 0;
}

#endif
