/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Compound TCP: a Reno window plus a delay-based one.
 *
 * Reference: Tan, Song, Zhang, Sridharan, "A Compound TCP Approach for High-speed and Long Distance Networks", INFOCOM 2006;
 * draft-sridharan-tcpm-ctcp-02. win = cwnd + dwnd. Per ACK cwnd += 1/win. Per round trip, diff = win (1 - base_rtt/rtt):
 * below gamma dwnd += (alpha win^k - 1)+, else dwnd = (dwnd - zeta diff)+. Loss: win halves (beta 1/2).
 * alpha 1/8, k 3/4, zeta 1, gamma 30 packets.
 *
 * Differences from the reference:
 *  1. gamma is fixed: the tuning of the draft (TUBE) was patented.
 *  2. The RTT of a round is its minimum, from at least 3 samples; with fewer dwnd holds.
 *  3. Below low_window (38 packets) dwnd does not grow: there alpha win^k - 1 is under 2 anyway.
 *
 * Fixed point: windows in 1/65536 packet; win^(3/4) = sqrt(win sqrt(win)) by integer square roots, each rounded down to
 * 1/65536. Tested against the Rust controller (crates/cc/tests/laws).
 */
#ifndef PLAYPATH_LAW_COMPOUND_H
#define PLAYPATH_LAW_COMPOUND_H

#include "law.h"

struct compound_state {
	u64 cwnd_q16;
	u64 dwnd_q16;
	u64 diff_q16;
	u32 ssthresh;
	u32 base_rtt_us; /* 0: none yet */
	u32 round_rtt_us; /* smallest of the round; 0: none */
	u32 round_rtt_count;
	u64 zero; /* a zero that the verifier does not know */
};

LAW_INLINE void compound_init(struct compound_state *s, u32 initial_window)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->cwnd_q16 = initial_window * Q16;
	s->ssthresh = LAW_SSTHRESH_INFINITE;
}

LAW_INLINE u64 compound_win_q16(const struct compound_state *s)
{
	return law_min(s->cwnd_q16 + s->dwnd_q16, LAW_MAX_WINDOW * Q16);
}

LAW_INLINE u32 compound_cwnd(const struct compound_state *s)
{
	return compound_win_q16(s) >> 16;
}

/* Linux set the window: dwnd keeps its size as far as it fits, the loss window takes the rest. */
LAW_INLINE void compound_adopt(struct compound_state *s, u32 cwnd, u32 ssthresh)
{
	u64 win = law_max(cwnd, 1) * Q16;

	s->dwnd_q16 = law_min(s->dwnd_q16, win - Q16);
	s->cwnd_q16 = win - s->dwnd_q16;
	s->ssthresh = ssthresh;
}

/* floor(sqrt(x)), bit by bit. */
LAW_CHECKED_ALONE u64 compound_sqrt(u64 x, u64 zero)
{
	u64 root = zero;

	for (u32 shift = 0; shift < 64; shift += 2) {
		u64 bit = (1ULL << 62) >> shift;
		u64 trial = root + bit;

		root >>= 1;
		if (x >= trial) {
			x -= trial;
			root += bit;
		}
	}
	return root;
}

/* win^(3/4), both in 1/65536. */
LAW_INLINE u64 compound_power_q16(u64 win_q16, u64 zero)
{
	u64 win = law_min(win_q16, LAW_MAX_WINDOW * Q16);

	return compound_sqrt(win * compound_sqrt(win << 16, zero), zero);
}

LAW_INLINE void compound_end_round(struct compound_state *s, const u32 *param, bool may_grow)
{
	u64 win = compound_win_q16(s);
	u64 rtt = s->round_rtt_us;
	u64 count = s->round_rtt_count;

	s->round_rtt_us = 0;
	s->round_rtt_count = 0;
	if (win < s->ssthresh * Q16 || count < 3 || !rtt || !s->base_rtt_us)
		return;
	s->diff_q16 = win - win * law_min(s->base_rtt_us, rtt) / rtt;
	if (s->diff_q16 * COMPOUND_GAMMA_SCALE >= LAW_PARAM(param, COMPOUND_GAMMA) * Q16) {
		u64 fall = s->diff_q16 * LAW_PARAM(param, COMPOUND_ZETA) / COMPOUND_ZETA_SCALE;

		s->dwnd_q16 = s->dwnd_q16 > fall ? s->dwnd_q16 - fall : 0;
	} else if (may_grow && win * COMPOUND_LOW_WINDOW_SCALE >= LAW_PARAM(param, COMPOUND_LOW_WINDOW) * Q16) {
		u64 rise = compound_power_q16(win, s->zero) * LAW_PARAM(param, COMPOUND_ALPHA) / COMPOUND_ALPHA_SCALE;

		s->dwnd_q16 += rise > Q16 ? rise - Q16 : 0;
	}
}

LAW_INLINE void compound_on_rtt(struct compound_state *s, u32 rtt_us)
{
	if (!rtt_us)
		return;
	if (!s->base_rtt_us || rtt_us < s->base_rtt_us)
		s->base_rtt_us = rtt_us;
	if (!s->round_rtt_us || rtt_us < s->round_rtt_us)
		s->round_rtt_us = rtt_us;
	s->round_rtt_count++;
}

LAW_INLINE void compound_on_ack(struct compound_state *s, const u32 *param, const struct law_view *view,
				const struct law_ack *ack)
{
	u64 acked_q16 = ack->acked * Q16;
	u64 win;

	(void)view;
	if (ack->round_start && !ack->in_recovery)
		compound_end_round(s, param, ack->may_grow);
	compound_on_rtt(s, ack->rtt_us);
	if (!ack->may_grow)
		return;
	win = compound_win_q16(s);
	if (win < s->ssthresh * Q16) {
		u64 step = law_min(acked_q16, s->ssthresh * Q16 - win);

		s->cwnd_q16 += step;
		acked_q16 -= step;
		win += step;
	}
	if (acked_q16 && win >= Q16 && win < LAW_MAX_WINDOW * Q16)
		s->cwnd_q16 += (acked_q16 << 16) / win;
}

/* cwnd / 2 and (win/2 - cwnd/2)+: the sum halves. Returns the new ssthresh. */
LAW_INLINE u32 compound_on_congestion(struct compound_state *s)
{
	s->cwnd_q16 /= 2;
	s->dwnd_q16 /= 2;
	s->ssthresh = law_max(compound_cwnd(s), 2);
	if (compound_win_q16(s) < 2 * Q16)
		s->cwnd_q16 = 2 * Q16 - s->dwnd_q16;
	return s->ssthresh;
}

/* The samples of a recovery are not those of a round. */
LAW_INLINE void compound_on_recovery_exit(struct compound_state *s)
{
	s->round_rtt_us = 0;
	s->round_rtt_count = 0;
}

LAW_INLINE void compound_on_rto(struct compound_state *s, bool is_first)
{
	if (is_first)
		s->ssthresh = law_max(compound_cwnd(s) / 2, 2);
	s->cwnd_q16 = Q16;
	s->dwnd_q16 = 0;
}

#endif
