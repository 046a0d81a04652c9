/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * CCP, CCPD, CCPLCA and CCPLB: control-theoretic windows that share one law.
 *
 * Reference: Cavendish et al., "Congestion Avoidance TCP Improvements for Video Streaming", INTERNET 2015. On every
 * acknowledgement in congestion avoidance
 *
 *     cwnd = [Kp (B - x) - in flight] / 2          (CCP)
 *            [Kp (B - x) - Kd dx - in flight] / 2  (CCPD)
 *            max(CCP, ceil(VR rtt / MSS))          (CCPLCA)
 *            CCP + POB / POBRate                   (CCPLB)
 *
 * The definitions, defaults and deviations are those of the Rust controls in crates/cc (ccp.rs and its neighbours), which
 * this stands for. Differences from the Rust controls:
 *  1. Capacity is the largest delivery rate of 10 round trips (`maxrate`) only: packet pairs do not survive GRO and TSO.
 *  2. No `paper` and no `literal` mode, backlog from the smoothed RTT only.
 *  3. Classic slow start without a limit per ACK, as Linux.
 *  4. The application parameters are words of the parameter block: which part of the playout buffer counts (`size` or
 *     `free`) is decided by who writes it.
 *
 * Fixed point: capacity in packets/us scaled by 2^32, windows in 1/65536 packet, gains in 1/1000. Invariant: the law's window
 * is within 2 and max_cwnd. Tested against the Rust control event by event (crates/laws), and on the kernel (tests/testbed).
 */
#ifndef PLAYPATH_LAW_CCP_H
#define PLAYPATH_LAW_CCP_H

#include "law_filter.h"

enum ccp_variant { CCP_PLAIN, CCP_DERIVATIVE, CCP_LCA, CCP_LB };

#define CCP_RATE_WINDOW_ROUNDS 10
/* The backlog of the last two rtt_min, sixteen samples each. */
#define CCP_HISTORY 32
#define CCP_HISTORY_PER_RTT 16
/* 268 s: keeps capacity times RTT inside 64 bits up to 8 packets/us (100 Gbit/s). */
#define CCP_MAX_RTT_US (1ULL << 28)

_Static_assert(CCP_MAX_CWND_MAX <= LAW_MAX_WINDOW, "windows of the law stay below the bound of all");

struct ccp_state {
	struct law_filter rate; /* packets/us, 2^32 */
	struct law_filter rtt_min; /* us */
	struct law_filter rtt_max;
	u64 smoothed_ns;
	u64 cwnd_q16;
	u64 b_q16;
	u64 x_q16;
	u64 pob_q16;
	u64 guard_q32; /* what remains of the storage */
	u64 guard_window_q16; /* window when the round began */
	u32 guard_lost;
	u32 guard_bad_rounds;
	u32 ssthresh;
	u32 round;
	bool in_slow_start;
	bool in_backoff; /* between a timeout and the end of its recovery: RTT samples tell of the timer */
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

/* Capacity times a time, as packets in 1/65536. */
LAW_INLINE u64 ccp_packets_q16(u64 rate_q32, u64 us)
{
	return law_min(rate_q32 * law_min(us, CCP_MAX_RTT_US) >> 16, LAW_MAX_WINDOW * Q16);
}

LAW_INLINE void ccp_estimate(struct ccp_state *s, const u32 *param, const struct law_view *view, const struct law_ack *ack)
{
	u64 rtt = law_min(ack->rtt_us, CCP_MAX_RTT_US);

	s->round += ack->round_start;
	if (ack->rate_delivered && ack->rate_interval_us) {
		u64 rate = law_min(((u64)ack->rate_delivered << 32) / ack->rate_interval_us, 8ULL << 32);

		if (!ack->rate_app_limited || rate >= s->rate.best.value)
			law_filter_add(&s->rate, CCP_RATE_WINDOW_ROUNDS, s->round, rate, true);
	}
	if (!rtt || s->in_backoff)
		return;
	s->smoothed_ns = s->smoothed_ns ? (s->smoothed_ns * 7 + rtt * 1000) / 8 : rtt * 1000;
	law_filter_add(&s->rtt_min, LAW_PARAM(param, CCP_RTT_MIN_WINDOW) * 1000, view->now_us, rtt, false);
	law_filter_add(&s->rtt_max, LAW_PARAM(param, CCP_RTT_MAX_WINDOW) * 1000, view->now_us, rtt, true);
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

/* B and x from the estimates. */
LAW_INLINE void ccp_storage(struct ccp_state *s, const u32 *param)
{
	u64 rtt_min = s->rtt_min.best.value;
	u64 rtt_max = law_min(s->rtt_max.best.value, rtt_min * LAW_PARAM(param, CCP_RTT_MAX_CAP) / CCP_RTT_MAX_CAP_SCALE);
	u64 floor = rtt_min * LAW_PARAM(param, CCP_FLOOR_GAIN) * 3 / LAW_PARAM(param, CCP_KP);
	u64 b = ccp_packets_q16(s->rate.best.value, law_max(rtt_max, floor));
	u64 smoothed = s->smoothed_ns / 1000;

	if (param[CCP_LOSS_GUARD])
		b = ((b >> 16) * s->guard_q32 >> 16) + ((b & 0xffff) * s->guard_q32 >> 32);
	s->b_q16 = b;
	s->x_q16 = smoothed > rtt_min ? ccp_packets_q16(s->rate.best.value, smoothed - rtt_min) : 0;
}

/* x now minus the newest x at least rtt_min old; 0 while there is none. */
LAW_INLINE s64 ccp_change_q16(struct ccp_state *s, u64 now_us)
{
	u64 age_us = s->rtt_min.best.value;
	u64 newest_us = s->history_us[(s->history_next - 1) % CCP_HISTORY];
	u64 then_us = 0;
	s64 then_q16 = s->x_q16;

	if (!newest_us || (now_us - newest_us) * 1000 >= age_us * 1000 / CCP_HISTORY_PER_RTT) {
		s->history_us[s->history_next % CCP_HISTORY] = now_us;
		s->history_q16[s->history_next % CCP_HISTORY] = s->x_q16;
		s->history_next++;
	}
	for (u32 i = 0; i < CCP_HISTORY; i++) {
		u64 at = s->history_us[i];

		if (at > then_us && at + age_us <= now_us) {
			then_us = at;
			then_q16 = s->history_q16[i];
		}
	}
	return (s64)s->x_q16 - then_q16;
}

LAW_INLINE s64 ccp_video_q16(const struct ccp_state *s, const u32 *param, u32 mss)
{
	/* kbit/s times ns = bits / 10^6 */
	u64 bits_e6 = LAW_PARAM(param, CCP_VIDEO_KBPS) * law_min(s->smoothed_ns, CCP_MAX_RTT_US * 1000);
	u64 packet = 8ULL * 1000000 * mss;

	return law_min((bits_e6 + packet - 1) / packet, LAW_MAX_WINDOW) * Q16;
}

LAW_INLINE u64 ccp_pob_q16(const struct ccp_state *s, const u32 *param, u32 mss)
{
	u64 packets = LAW_PARAM(param, CCP_POB_BYTES) / mss;
	u64 rate = LAW_PARAM(param, CCP_POB_RATE);

	if (param[CCP_URGENT])
		rate = law_min(rate, CCP_POB_RATE_SCALE);
	return law_min(packets * Q16 * CCP_POB_RATE_SCALE / rate, s->b_q16);
}

LAW_INLINE s64 ccp_window_q16(struct ccp_state *s, const u32 *param, const struct law_view *view, u32 variant)
{
	s64 window = law_times((s64)s->b_q16 - (s64)s->x_q16, LAW_PARAM(param, CCP_KP), CCP_KP_SCALE);

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

	ccp_estimate(s, param, view, ack);
	ccp_guard(s, ack);
	if (s->in_slow_start) {
		if (ack->may_grow)
			s->cwnd_q16 = law_min(s->cwnd_q16 + ack->acked * Q16, law_min(s->ssthresh, LAW_MAX_WINDOW) * Q16);
		s->in_slow_start = s->cwnd_q16 < s->ssthresh * Q16;
		return;
	}
	if (!s->rate.best.value || !s->rtt_min.best.value || !view->mss)
		return;
	ccp_storage(s, param);
	window = law_positive(ccp_window_q16(s, param, view, variant));
	window = law_clamp(window, 2 * Q16, LAW_PARAM(param, CCP_MAX_CWND) * Q16);
	/* An idle sender's empty pipe would raise the window to Kp B / 2. */
	if (window > s->cwnd_q16 ? ack->may_grow && held == CCP_RECOVERY_FOLLOW : held != CCP_RECOVERY_HOLD)
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
