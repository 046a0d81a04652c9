/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * CCP, CCPD, CCPLCA and CCPLB: control-theoretic windows that share one law.
 *
 * Reference: Cavendish et al., "Congestion Avoidance TCP Improvements for Video Streaming", INTERNET 2015. On every
 * acknowledgement in congestion avoidance
 *
 *     cwnd = [Kp (B - x) - in flight] / 2          (CCP)
 *            [Kp (B - x) - Kd dx - in flight] / 2  (CCPD; in mode literal B - x - in flight - Kd dx/dt)
 *            max(CCP, ceil(VR rtt / MSS))          (CCPLCA; with `bound` = printed the paper's VR / rtt)
 *            CCP + POB / POBRate                   (CCPLB)
 *
 * The definitions, defaults and deviations are those of the Rust controls in crates/cc (ccp.rs and its neighbours), which
 * this stands for. Differences from the Rust controls:
 *  1. Pairs for `capprobe` need ACKs of single packets; a receiver that merges packets (GRO) leaves fewer than the simulator's.
 *  2. Classic slow start without a limit per ACK, as Linux.
 *  3. The application parameters are words of the parameter block: which part of the playout buffer counts (`size` or
 *     `free`) is decided by who writes it.
 *  4. A capacity that is given ends at 4 packets/us, the buffer's term at LAW_MAX_WINDOW.
 *
 * Fixed point: capacity in packets/us scaled by 2^32, windows in 1/65536 packet, gains in 1/1000. Invariant: the law's window
 * is within 2 and max_cwnd. Tested against the Rust control event by event (crates/cc/tests/laws), and on the kernel (tests/testbed).
 */
#ifndef PLAYPATH_LAW_CCP_H
#define PLAYPATH_LAW_CCP_H

#include "law_filter.h"

enum ccp_variant { CCP_PLAIN, CCP_DERIVATIVE, CCP_LCA, CCP_LB };

#define CCP_RATE_WINDOW_ROUNDS 10
/* Two packets are a pair if the second left within a fourth of their dispersion (crates/cc, estimators.rs). */
#define CCP_PAIR_MAX_GAP 4
/* The backlog of the last two rtt_min, sixteen samples each. */
#define CCP_HISTORY 32
#define CCP_HISTORY_PER_RTT 16
/* 268 s: keeps capacity times RTT inside 64 bits up to 8 packets/us (100 Gbit/s). */
#define CCP_MAX_RTT_US (1ULL << 28)

_Static_assert(CCP_MAX_CWND_MAX <= LAW_MAX_WINDOW, "windows of the law stay below the bound of all");

/* Passive CapProbe: the pair of packets that was delayed least. */
struct ccp_pairs {
	u64 acked_us; /* the ACK before, if it was of one packet; 0: it was not */
	u64 rtt_us;
	u64 best_us;
	u64 best_delay_us; /* sum of the pair's two RTTs */
	u64 best_q32; /* packets/us; 0: no pair yet */
};

struct ccp_state {
	struct law_filter rate; /* packets/us, 2^32 */
	struct ccp_pairs pairs;
	u64 capacity_q32;
	struct law_filter rtt_min; /* us */
	struct law_filter rtt_max;
	u64 smoothed_ns;
	u64 latest_ns;
	u64 cwnd_q16;
	u64 b_q16;
	u64 x_q16;
	u64 smoothed_x_q16;
	u64 pob_q16;
	u64 guard_q32; /* what remains of the storage */
	u64 guard_window_q16; /* window when the round began */
	u32 guard_lost;
	u32 guard_bad_rounds;
	u32 ssthresh;
	u32 round;
	bool in_slow_start;
	bool in_backoff; /* between a timeout and the end of its recovery: RTT samples tell of the timer */
	u64 literal_us; /* the ACK before, in mode literal; 0: none */
	u64 literal_q16;
	u32 history_next;
	u64 history_us[CCP_HISTORY]; /* 0: empty */
	u64 history_q16[CCP_HISTORY];
};

LAW_INLINE void ccp_init(struct ccp_state *s, u32 initial_window)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->cwnd_q16 = initial_window * Q16;
	s->ssthresh = LAW_SSTHRESH_INFINITE;
	s->guard_q32 = 1ULL << 32;
	s->guard_window_q16 = ~0ULL;
	s->in_slow_start = true;
}

/* Never above the window once slow start is over: below it a half-used window may grow, and `ss` and tcp_info show slow start. */
LAW_INLINE u32 ccp_ssthresh(const struct ccp_state *s)
{
	return s->in_slow_start ? s->ssthresh : law_min(s->ssthresh, (u32)(s->cwnd_q16 >> 16));
}

LAW_INLINE bool ccp_is_paper(const u32 *param)
{
	return param[CCP_MODE] == CCP_MODE_PAPER;
}

/* Capacity times a time, as packets in 1/65536. */
LAW_INLINE u64 ccp_packets_q16(u64 rate_q32, u64 ns)
{
	u64 us = law_min(ns / 1000, CCP_MAX_RTT_US);

	return law_min((rate_q32 * us + rate_q32 * (ns % 1000) / 1000) >> 16, LAW_MAX_WINDOW * Q16);
}

LAW_INLINE void ccp_take_pair(struct ccp_pairs *p, u64 window_us, u64 now_us, u64 rtt_us)
{
	u64 dispersion = now_us - p->acked_us;
	u64 first_sent = p->acked_us - p->rtt_us;
	u64 second_sent = now_us - rtt_us;
	u64 delay = p->rtt_us + rtt_us;

	if (second_sent < first_sent || !dispersion || (second_sent - first_sent) * CCP_PAIR_MAX_GAP > dispersion)
		return;
	if (p->best_q32 && delay > p->best_delay_us && now_us - p->best_us <= window_us)
		return;
	p->best_us = now_us;
	p->best_delay_us = delay;
	p->best_q32 = (1ULL << 32) / dispersion;
}

LAW_INLINE void ccp_pairs_on_ack(struct ccp_pairs *p, u64 window_us, const struct law_view *view, const struct law_ack *ack)
{
	bool is_single = ack->rtt_us && ack->delivered == 1 && !ack->newly_lost;

	if (is_single && p->acked_us)
		ccp_take_pair(p, window_us, view->now_us, ack->rtt_us);
	p->acked_us = is_single ? view->now_us : 0;
	p->rtt_us = ack->rtt_us;
}

/* Memory of the largest RTT and of the best pair. */
LAW_INLINE u64 ccp_max_window_us(const u32 *param)
{
	return 1000ULL * (ccp_is_paper(param) ? LAW_PARAM(param, CCP_RTT_MIN_WINDOW) : LAW_PARAM(param, CCP_RTT_MAX_WINDOW));
}

LAW_INLINE u64 ccp_capacity_q32(const struct ccp_state *s, const u32 *param)
{
	u32 estimator = param[CCP_ESTIMATOR];

	if (estimator == CCP_ESTIMATOR_GIVEN)
		return (LAW_PARAM(param, CCP_CAPACITY) << 32) / (1000000ULL * CCP_CAPACITY_SCALE);
	if (estimator == CCP_ESTIMATOR_AUTO)
		estimator = ccp_is_paper(param) ? CCP_ESTIMATOR_CAPPROBE : CCP_ESTIMATOR_MAXRATE;
	return estimator == CCP_ESTIMATOR_CAPPROBE && s->pairs.best_q32 ? s->pairs.best_q32 : s->rate.best.value;
}

LAW_INLINE void ccp_estimate_capacity(struct ccp_state *s, const u32 *param, const struct law_view *view,
				      const struct law_ack *ack)
{
	s->round += ack->round_start;
	ccp_pairs_on_ack(&s->pairs, ccp_max_window_us(param), view, ack);
	if (ack->rate_delivered && ack->rate_interval_us) {
		u64 rate = law_min(((u64)ack->rate_delivered << 32) / ack->rate_interval_us, 8ULL << 32);

		if (!ack->rate_app_limited || rate >= s->rate.best.value)
			law_filter_add(&s->rate, CCP_RATE_WINDOW_ROUNDS, s->round, rate, true);
	}
	s->capacity_q32 = ccp_capacity_q32(s, param);
}

LAW_INLINE void ccp_estimate(struct ccp_state *s, const u32 *param, const struct law_view *view, const struct law_ack *ack)
{
	u64 rtt = law_min(ack->rtt_us, CCP_MAX_RTT_US);

	ccp_estimate_capacity(s, param, view, ack);
	if (!rtt || s->in_backoff)
		return;
	s->latest_ns = rtt * 1000;
	s->smoothed_ns = s->smoothed_ns ? (s->smoothed_ns * 7 + s->latest_ns) / 8 : s->latest_ns;
	law_filter_add(&s->rtt_min, LAW_PARAM(param, CCP_RTT_MIN_WINDOW) * 1000, view->now_us, rtt, false);
	law_filter_add(&s->rtt_max, ccp_max_window_us(param), view->now_us, rtt, true);
}

/* More than a tenth of the window lost in three round trips in a row: 0.7 of the storage, again every further such round trip.
 * The way back is a sixteenth of the missing part per quiet round trip. */
LAW_INLINE void ccp_guard(struct ccp_state *s, const struct law_ack *ack)
{
	s->guard_lost += ack->newly_lost;
	if (!ack->round_start)
		return;
	if (s->guard_lost * Q16 * 10 > s->guard_window_q16) {
		s->guard_bad_rounds++;
		if (s->guard_bad_rounds >= 3)
			s->guard_q32 = law_max(s->guard_q32 * 7 / 10, (1ULL << 32) / 100);
	} else {
		s->guard_bad_rounds = 0;
		s->guard_q32 += ((1ULL << 32) - s->guard_q32) / 16;
	}
	s->guard_lost = 0;
	s->guard_window_q16 = s->cwnd_q16;
}

/* The RTT that the storage counts: the largest one, in mode paper as it is, else between a floor and a cap. */
LAW_INLINE u64 ccp_storage_us(const struct ccp_state *s, const u32 *param)
{
	u64 rtt_min = s->rtt_min.best.value;
	u64 cap = rtt_min * LAW_PARAM(param, CCP_RTT_MAX_CAP) / CCP_RTT_MAX_CAP_SCALE;
	u64 floor = rtt_min * LAW_PARAM(param, CCP_FLOOR_GAIN) * 3 / LAW_PARAM(param, CCP_KP);

	if (ccp_is_paper(param))
		return s->rtt_max.best.value;
	return law_max(law_min(s->rtt_max.best.value, cap), floor);
}

LAW_INLINE u64 ccp_backlog_q16(const struct ccp_state *s, u64 rtt_ns)
{
	u64 rtt_min_ns = s->rtt_min.best.value * 1000;

	return rtt_ns > rtt_min_ns ? ccp_packets_q16(s->capacity_q32, rtt_ns - rtt_min_ns) : 0;
}

/* B and x from the estimates. */
LAW_INLINE void ccp_storage(struct ccp_state *s, const u32 *param)
{
	u64 b = ccp_packets_q16(s->capacity_q32, ccp_storage_us(s, param) * 1000);

	if (param[CCP_LOSS_GUARD] && !ccp_is_paper(param))
		b = ((b >> 16) * s->guard_q32 >> 16) + ((b & 0xffff) * s->guard_q32 >> 32);
	s->b_q16 = b;
	s->smoothed_x_q16 = ccp_backlog_q16(s, s->smoothed_ns);
	s->x_q16 = param[CCP_RTT] == CCP_RTT_RAW ? ccp_backlog_q16(s, s->latest_ns) : s->smoothed_x_q16;
}

/* The smoothed x now minus the newest x at least rtt_min old; 0 while there is none. */
LAW_INLINE s64 ccp_change_q16(struct ccp_state *s, u64 now_us)
{
	u64 age_us = s->rtt_min.best.value;
	u64 newest_us = s->history_us[(s->history_next - 1) % CCP_HISTORY];
	u64 then_us = 0;
	s64 then_q16 = s->smoothed_x_q16;

	if (!newest_us || (now_us - newest_us) * 1000 >= age_us * 1000 / CCP_HISTORY_PER_RTT) {
		s->history_us[s->history_next % CCP_HISTORY] = now_us;
		s->history_q16[s->history_next % CCP_HISTORY] = s->smoothed_x_q16;
		s->history_next++;
	}
	for (u32 i = 0; i < CCP_HISTORY; i++) {
		u64 at = s->history_us[i];

		if (at > then_us && at + age_us <= now_us) {
			then_us = at;
			then_q16 = s->history_q16[i];
		}
	}
	return (s64)s->smoothed_x_q16 - then_q16;
}

/* The recalled form: Kp = 1, Kd in seconds, the derivative over consecutive ACKs. */
LAW_INLINE s64 ccp_literal_q16(struct ccp_state *s, const u32 *param, const struct law_view *view)
{
	u64 elapsed_us = s->literal_us ? view->now_us - s->literal_us : 0;
	s64 fall = (s64)s->literal_q16 - (s64)s->x_q16;
	s64 window = (s64)s->b_q16 - (s64)s->x_q16 - (s64)view->in_flight * (s64)Q16;

	s->literal_us = view->now_us;
	s->literal_q16 = s->x_q16;
	if (elapsed_us)
		window += law_times(fall, LAW_PARAM(param, CCP_KD) * (1000000 / CCP_KD_SCALE), elapsed_us);
	return window;
}

LAW_INLINE s64 ccp_video_q16(const struct ccp_state *s, const u32 *param, u32 mss)
{
	/* kbit/s times ns = bits / 10^6 */
	u64 bits_e6 = LAW_PARAM(param, CCP_VIDEO_KBPS) * law_min(s->smoothed_ns, CCP_MAX_RTT_US * 1000);
	u64 packet = 8ULL * 1000000 * mss;

	if (param[CCP_BOUND] == CCP_BOUND_PRINTED) {
		/* kbit/s over ns = 10^12 bit/s over s */
		bits_e6 = LAW_PARAM(param, CCP_VIDEO_KBPS) * 1000000000000ULL;
		packet = 8ULL * mss * law_max(s->smoothed_ns, 1);
	}
	return law_min(bits_e6 / packet + (bits_e6 % packet != 0), LAW_MAX_WINDOW) * Q16;
}

LAW_INLINE u64 ccp_pob_q16(const struct ccp_state *s, const u32 *param, u32 mss)
{
	u64 packets = LAW_PARAM(param, CCP_POB_BYTES) / mss;
	u64 rate = LAW_PARAM(param, CCP_POB_RATE);

	u64 limit = ccp_is_paper(param) ? LAW_MAX_WINDOW * Q16 : s->b_q16;

	if (param[CCP_URGENT] && !ccp_is_paper(param))
		rate = law_min(rate, CCP_POB_RATE_SCALE);
	return law_min(packets * Q16 * CCP_POB_RATE_SCALE / rate, limit);
}

LAW_INLINE s64 ccp_window_q16(struct ccp_state *s, const u32 *param, const struct law_view *view, u32 variant)
{
	s64 window = law_times((s64)s->b_q16 - (s64)s->x_q16, LAW_PARAM(param, CCP_KP), CCP_KP_SCALE);

	if (variant == CCP_DERIVATIVE && param[CCP_MODE] == CCP_MODE_LITERAL)
		return ccp_literal_q16(s, param, view);
	if (variant == CCP_DERIVATIVE)
		window -= law_times(ccp_change_q16(s, view->now_us), LAW_PARAM(param, CCP_KD), CCP_KD_SCALE);
	window = (window - (s64)view->in_flight * (s64)Q16) >> 1;
	if (variant == CCP_LCA) {
		s64 video = ccp_video_q16(s, param, view->mss);

		window = window > video ? window : video;
	}
	if (variant == CCP_LB) {
		s->pob_q16 = ccp_pob_q16(s, param, view->mss);
		window += s->pob_q16;
	}
	return window;
}

LAW_INLINE void ccp_on_ack(struct ccp_state *s, const u32 *param, const struct law_view *view, const struct law_ack *ack,
			   u32 variant)
{
	u64 window;
	u32 held = ack->in_recovery ? param[CCP_RECOVERY] : CCP_RECOVERY_FOLLOW;
	/* An idle sender's empty pipe would raise the window to Kp B / 2. The paper's law knows no such condition. */
	bool may_grow = ack->may_grow || ccp_is_paper(param);

	ccp_estimate(s, param, view, ack);
	ccp_guard(s, ack);
	if (s->in_slow_start) {
		if (ack->may_grow)
			s->cwnd_q16 = law_min(s->cwnd_q16 + ack->acked * Q16, law_min(s->ssthresh, LAW_MAX_WINDOW) * Q16);
		s->in_slow_start = s->cwnd_q16 < s->ssthresh * Q16;
		return;
	}
	if (!s->capacity_q32 || !s->rtt_min.best.value || !view->mss)
		return;
	ccp_storage(s, param);
	window = law_positive(ccp_window_q16(s, param, view, variant));
	window = law_clamp(window, 2 * Q16, LAW_PARAM(param, CCP_MAX_CWND) * Q16);
	if (window > s->cwnd_q16 ? may_grow && held == CCP_RECOVERY_FOLLOW : held != CCP_RECOVERY_HOLD)
		s->cwnd_q16 = window;
}

/* The first loss ends slow start; otherwise loss triggers nothing. */
LAW_INLINE void ccp_on_congestion(struct ccp_state *s)
{
	if (!s->in_slow_start)
		return;
	s->in_slow_start = false;
	s->ssthresh = law_max(s->cwnd_q16 >> 16, 2);
}

LAW_INLINE void ccp_on_recovery_exit(struct ccp_state *s)
{
	s->in_backoff = false;
}

/* RFC 5681 section 3.1. */
LAW_INLINE void ccp_on_rto(struct ccp_state *s, u32 flight_size, bool is_first)
{
	if (is_first)
		s->ssthresh = law_max(flight_size / 2, 2);
	s->cwnd_q16 = Q16;
	s->in_slow_start = true;
	s->in_backoff = true;
}

#endif
