/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * CCP, CCPD, CCPLCA and CCPLB: control-theoretic windows that share one law.
 *
 * Reference: Cavendish et al. 2015 ("CCP, CCPLCA, CCPLB"), equation 5 and the two application-aware variants. On every
 * acknowledgement in congestion avoidance
 *
 *     cwnd = [Kp (B - x) - in flight] / 2          (CCP)
 *            [Kp (B - x) - Kd dx - in flight] / 2  (CCPD)
 *            max(CCP, ceil(VR rtt / MSS))          (CCPLCA)
 *            CCP + POB / POBRate                   (CCPLB)
 *
 * Differences from the reference (its estimators and gains were never published):
 *  1. B = C max(rtt_max, g 3/Kp rtt_min), g = 1.25: the second term is a floor that keeps the window from collapsing before
 *     a queue has been seen. C is the largest delivery rate of the last 10 round trips; application-limited samples count
 *     only if they raise it. rtt_min and rtt_max are over 10 s (law_filter.h), rtt_max <= 4 rtt_min.
 *  2. x = C (rtt_s - rtt_min)+, rtt_s the smoothed RTT (RFC 6298).
 *  3. dx = x now minus x one rtt_min ago (the newest of 16 samples, one per rtt_min/8, that is old enough).
 *  4. The POB term is at most B: a 30 s buffer would otherwise order thousands of packets.
 *  5. RTO: window 1 and slow start to half the flight size (RFC 5681 section 3.1); the paper is silent.
 *  6. loss_guard (off by default): more than 10 % lost in 3 consecutive round trips multiplies B by 0.7 per round until a
 *     round without loss.
 *
 * Fixed point: C is in packets/us scaled by 2^32, windows in 1/65536 packet, gains in 1/256. Invariant: 2 <= window <= 2^20.
 * Tested against the Rust controller event by event (crates/twin), and on the kernel (tests/testbed).
 */
#ifndef PLAYPATH_LAW_CCP_H
#define PLAYPATH_LAW_CCP_H

#include "law_filter.h"

enum ccp_param {
	CCP_KP_Q8,
	CCP_KD_Q8,
	CCP_FLOOR_GAIN_Q8, /* g */
	CCP_RECOVERY, /* 0: follow the law in recovery, 1: hold the window */
	CCP_LOSS_GUARD,
	CCP_PACING_GAIN_Q8, /* 0: off */
	CCP_POB_BYTES, /* playout buffer, or its free space: the agent decides which it writes */
	CCP_POB_RATE_Q8, /* divisor of POB */
	CCP_VIDEO_KBPS,
};

enum ccp_variant { CCP_PLAIN, CCP_DERIVATIVE, CCP_LCA, CCP_LB };
enum ccp_phase { CCP_SLOW_START, CCP_LAW };

#define CCP_HISTORY 16
#define CCP_RTT_WINDOW_US 10000000ULL
#define CCP_RATE_WINDOW_ROUNDS 10

struct ccp_state {
	struct law_filter rate; /* packets/us, 2^32 */
	struct law_filter rtt_min;
	struct law_filter rtt_max;
	u64 cwnd_q16;
	u64 x_q16;
	u64 b_q16;
	u64 pob_q16;
	u32 ssthresh;
	u32 phase;
	u32 round;
	bool after_rto; /* slow start after an RTO ends at ssthresh, not at a loss */
	/* loss guard */
	u32 round_delivered;
	u32 round_lost;
	u32 lossy_rounds;
	u32 guard_q16; /* factor on B */
	/* CCPD: x over the last two rtt_min */
	u64 history_x_q16[CCP_HISTORY];
	u64 history_us[CCP_HISTORY];
	u32 history_next;
};

LAW_INLINE void ccp_init(struct ccp_state *s, u32 initial_window)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->cwnd_q16 = initial_window * Q16;
	s->ssthresh = LAW_SSTHRESH_INFINITE;
	s->guard_q16 = Q16;
}

LAW_INLINE u32 ccp_kp_q8(const u32 *param)
{
	return law_clamp(param[CCP_KP_Q8], 1, 16 * 256);
}

/* C in packets/us, 2^32, times microseconds, as packets in 1/65536. */
LAW_INLINE u64 ccp_packets_q16(u64 rate_q32, u64 us)
{
	return law_min(rate_q32 * us >> 16, LAW_MAX_WINDOW * Q16);
}

LAW_INLINE void ccp_estimate(struct ccp_state *s, const struct law_view *view, const struct law_ack *ack)
{
	if (ack->round_start)
		s->round++;
	if (ack->rtt_us && !s->after_rto) {
		/* 2^28 us = 268 s: keeps rate times RTT inside 64 bits up to 8 packets/us (100 Gbit/s). */
		u64 rtt = law_min(ack->rtt_us, 1U << 28);

		law_filter_add(&s->rtt_min, CCP_RTT_WINDOW_US, view->now_us, rtt, false);
		law_filter_add(&s->rtt_max, CCP_RTT_WINDOW_US, view->now_us, rtt, true);
	}
	if (ack->rate_delivered && ack->rate_interval_us) {
		u64 rate = law_min(((u64)ack->rate_delivered << 32) / ack->rate_interval_us, 8ULL << 32);

		if (!ack->rate_app_limited || rate >= s->rate.best.value)
			law_filter_add(&s->rate, CCP_RATE_WINDOW_ROUNDS, s->round, rate, true);
	}
}

LAW_INLINE void ccp_guard(struct ccp_state *s, const struct law_ack *ack)
{
	if (ack->round_start) {
		bool is_lossy = s->round_lost * 10 > s->round_lost + s->round_delivered;

		s->lossy_rounds = is_lossy ? s->lossy_rounds + 1 : 0;
		if (!s->round_lost)
			s->guard_q16 = Q16;
		else if (s->lossy_rounds >= 3)
			s->guard_q16 = (u64)s->guard_q16 * 45875 >> 16; /* 0.7 */
		s->round_delivered = 0;
		s->round_lost = 0;
	}
	s->round_delivered += ack->delivered;
	s->round_lost += ack->newly_lost;
}

/* B and x from the estimates. */
LAW_INLINE void ccp_buffer(struct ccp_state *s, const u32 *param, const struct law_view *view)
{
	u64 rtt_min = s->rtt_min.best.value;
	u64 rtt_max = law_min(s->rtt_max.best.value, 4 * rtt_min);
	u64 floor = rtt_min * law_min(param[CCP_FLOOR_GAIN_Q8], 16 * 256) * 3 / ccp_kp_q8(param);
	u64 smoothed = law_min(view->srtt_us, 1U << 28);
	u64 b = ccp_packets_q16(s->rate.best.value, law_max(rtt_max, floor));

	s->b_q16 = param[CCP_LOSS_GUARD] ? (b >> 16) * s->guard_q16 + ((b & 0xffff) * s->guard_q16 >> 16) : b;
	s->x_q16 = smoothed > rtt_min ? ccp_packets_q16(s->rate.best.value, smoothed - rtt_min) : 0;
}

/* x now minus x one rtt_min ago; 0 while the history is shorter. */
LAW_INLINE s64 ccp_derivative_q16(struct ccp_state *s, u64 now_us)
{
	u64 rtt_min = s->rtt_min.best.value;
	u32 newest = (s->history_next - 1) % CCP_HISTORY;
	u64 then_us = 0;
	s64 then = s->x_q16;

	for (u32 i = 0; i < CCP_HISTORY; i++) {
		u64 at = s->history_us[i];

		if (at && at + rtt_min <= now_us && at > then_us) {
			then_us = at;
			then = s->history_x_q16[i];
		}
	}
	if (s->history_us[newest] + rtt_min / 8 <= now_us) {
		u32 slot = s->history_next % CCP_HISTORY;

		s->history_us[slot] = now_us;
		s->history_x_q16[slot] = s->x_q16;
		s->history_next++;
	}
	return (s64)s->x_q16 - then;
}

LAW_INLINE s64 ccp_law_q16(struct ccp_state *s, const u32 *param, const struct law_view *view, u32 variant)
{
	s64 window = ((s64)ccp_kp_q8(param) * ((s64)s->b_q16 - (s64)s->x_q16)) >> 8;

	if (variant == CCP_DERIVATIVE)
		window -= ((s64)law_min(param[CCP_KD_Q8], 4 * 256) * ccp_derivative_q16(s, view->now_us)) >> 8;
	window = (window - (s64)view->in_flight * (s64)Q16) >> 1;
	if (variant == CCP_LCA) {
		/* kbit/s * us / 8000 = bytes */
		u64 bytes = law_min(param[CCP_VIDEO_KBPS], 100000000) * law_min(view->srtt_us, 1U << 28) / 8000;
		s64 video = (bytes + view->mss - 1) / view->mss * Q16;

		window = window > video ? window : video;
	}
	if (variant == CCP_LB) {
		u64 pob = (u64)param[CCP_POB_BYTES] / view->mss * Q16;

		s->pob_q16 = law_min((pob << 8) / law_clamp(param[CCP_POB_RATE_Q8], 1, 1U << 16), s->b_q16);
		window += s->pob_q16;
	}
	return window;
}

LAW_INLINE void ccp_on_ack(struct ccp_state *s, const u32 *param, const struct law_view *view, const struct law_ack *ack,
			   u32 variant)
{
	s64 window;

	ccp_estimate(s, view, ack);
	ccp_guard(s, ack);
	if (s->phase == CCP_SLOW_START && ack->newly_lost && !s->after_rto) {
		s->phase = CCP_LAW;
		return; /* the law takes over on the next acknowledgement */
	}
	if (s->phase == CCP_SLOW_START) {
		if (ack->may_grow)
			s->cwnd_q16 = law_min(s->cwnd_q16 + ack->delivered * Q16, LAW_MAX_WINDOW * Q16);
		if (s->cwnd_q16 >= s->ssthresh * Q16) {
			s->phase = CCP_LAW;
			s->after_rto = false;
		}
		return;
	}
	if (!s->rate.best.value || !s->rtt_min.best.value || !view->mss || (ack->in_recovery && param[CCP_RECOVERY]))
		return;
	ccp_buffer(s, param, view);
	window = ccp_law_q16(s, param, view, variant);
	s->cwnd_q16 = law_clamp(law_positive(window), 2 * Q16, LAW_MAX_WINDOW * Q16);
}

LAW_INLINE void ccp_on_rto(struct ccp_state *s, u32 flight_size)
{
	s->ssthresh = law_max(flight_size / 2, 2);
	s->cwnd_q16 = Q16;
	s->phase = CCP_SLOW_START;
	s->after_rto = true;
}

#endif
