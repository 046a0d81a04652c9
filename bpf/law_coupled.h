/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * LIA and OLIA: the increase in congestion avoidance is coupled across the connections of a group (an MPTCP connection's
 * subflows); slow start and the reaction to loss are Reno's, per connection.
 *
 * References: RFC 6356 section 3 (LIA); draft-khalili-mptcp-congestion-control-05 (OLIA). Per acknowledged packet
 *
 *     LIA:  w_r += min( max_i(w_i/rtt_i^2) / S^2, 1/w_r )             S = sum_i w_i/rtt_i
 *     OLIA: w_r += (w_r/rtt_r^2) / S^2 + alpha_r/w_r
 *
 * alpha_r: with B the best paths (largest l/rtt^2, l the larger of the bytes acknowledged since the last loss and between the
 * last two), M those with the largest window, n all, C = B minus M: 1/(n|C|) in C, -1/(n|M|) in M, 0 otherwise; all 0 if C is
 * empty.
 *
 * Differences from the references:
 *  1. l/rtt^2 selects the best path, as the CoNEXT paper and Linux's OLIA do; the draft's text has l^2/rtt.
 *  2. alpha is computed anew at each ACK, not once per window.
 *  3. A member in loss recovery counts with ssthresh as its window. Windows are compared in whole packets, as Linux does.
 *  4. At most LAW_MEMBERS members; RTTs are taken as at most 256 times apart.
 *
 * Fixed point: windows in 1/2^32 packet (increments are thousandths of a packet); sums with RTTs relative to the longest one,
 * in 1/1024. Relative error of an increment below 1 % (crates/cc/tests/laws).
 */
#ifndef PLAYPATH_LAW_COUPLED_H
#define PLAYPATH_LAW_COUPLED_H

#include "law.h"

#define LAW_MEMBERS 8
#define Q32 (1ULL << 32)
#define COUPLED_MAX_WINDOW (1U << 16)

/* What one connection of the group lets the others know. */
struct law_member {
	u64 l_bytes; /* OLIA's l */
	u32 cwnd_q10;
	u32 srtt_us; /* 0: no sample, or closed; does not count */
	u32 owner; /* whose slot this is; 0: free */
	u32 unused;
};

struct law_group {
	struct law_member member[LAW_MEMBERS];
};

struct coupled_state {
	u64 cwnd_q32;
	u64 acked_bytes; /* cumulatively, as the transport counts them, in recovery too */
	u64 acked_at_loss;
	u64 between_losses_bytes;
	s64 alpha_q32; /* OLIA: of the last ACK */
	u32 ssthresh;
	u32 members; /* counted at the last ACK */
	u64 zero; /* a zero that the verifier does not know */
};

LAW_INLINE void coupled_init(struct coupled_state *s, u32 initial_window)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->cwnd_q32 = initial_window * Q32;
	s->ssthresh = LAW_SSTHRESH_INFINITE;
}

LAW_INLINE u32 coupled_cwnd(const struct coupled_state *s)
{
	return s->cwnd_q32 >> 32;
}

LAW_INLINE void coupled_adopt(struct coupled_state *s, u32 cwnd, u32 ssthresh)
{
	s->cwnd_q32 = law_min(cwnd, COUPLED_MAX_WINDOW) * Q32;
	s->ssthresh = ssthresh;
}

/* Sums over the group, RTTs relative to the longest: q = rtt_longest / rtt >= 1. */
struct coupled_sums {
	u64 sum_q10; /* sum w q */
	u64 best_q10; /* max w q^2 */
	u64 own_q10; /* own w q^2 */
	u64 best_l; /* max l q^2 */
	u32 max_cwnd; /* whole packets */
	u32 longest_us;
	u32 members;
};

LAW_INLINE u64 coupled_ratio_q10(u32 longest_us, u32 srtt_us)
{
	return law_min(((u64)longest_us << 10) / srtt_us, 256 << 10);
}

/* l q^2; l up to 2^36 bytes, q up to 2^18 in 1/1024. */
LAW_INLINE u64 coupled_score(const struct law_member *m, u64 q)
{
	u64 l = law_min(m->l_bytes, 1ULL << 36);

	return (l * q >> 10) * q;
}

LAW_CHECKED_ALONE int coupled_sum(const struct law_group *group, u32 own, u64 zero, struct coupled_sums *sums)
{
	u64 sum = zero, best = zero, own_share = zero, best_l = zero;
	u32 longest = zero, max_cwnd = zero, members = zero;

	if (!group || !sums)
		return 0;
	for (u32 i = 0; i < LAW_MEMBERS; i++)
		longest = law_max(longest, group->member[i].srtt_us);
	for (u32 i = 0; i < LAW_MEMBERS; i++) {
		const struct law_member *m = &group->member[i];
		u64 q, wq, wqq;

		if (!m->srtt_us)
			continue;
		q = coupled_ratio_q10(longest, m->srtt_us);
		wq = m->cwnd_q10 * q >> 10;
		wqq = wq * q >> 10;
		members++;
		sum += wq;
		best = law_max(best, wqq);
		best_l = law_max(best_l, coupled_score(m, q));
		max_cwnd = law_max(max_cwnd, m->cwnd_q10);
		own_share = i == own ? wqq : own_share;
	}
	sums->sum_q10 = sum;
	sums->best_q10 = best;
	sums->own_q10 = own_share;
	sums->best_l = best_l;
	sums->max_cwnd = max_cwnd >> 10;
	sums->longest_us = longest;
	sums->members = members;
	return 0;
}

/* b / S^2 in 1/2^32, for b = w q^2 and S = sum w q, both in 1/1024. */
LAW_INLINE u64 coupled_share_q32(u64 b_q10, u64 sum_q10)
{
	if (!sum_q10)
		return 0;
	return (((b_q10 << 16) / sum_q10) << 26) / sum_q10;
}

/* How many paths are collected (best, but not among the largest windows) and how many are largest, and which the own one is. */
struct coupled_sets {
	u32 collected;
	u32 largest;
	u32 own_is_collected;
	u32 own_is_largest;
};

LAW_CHECKED_ALONE int coupled_sort(const struct law_group *group, u32 own, u64 zero, const struct coupled_sums *sums,
				   struct coupled_sets *sets)
{
	u32 collected = zero, largest = zero, own_is_collected = zero, own_is_largest = zero;

	if (!group || !sums || !sets)
		return 0;
	for (u32 i = 0; i < LAW_MEMBERS; i++) {
		const struct law_member *m = &group->member[i];

		if (!m->srtt_us)
			continue;
		if (m->cwnd_q10 >> 10 == sums->max_cwnd) {
			largest++;
			own_is_largest += i == own;
		} else if (coupled_score(m, coupled_ratio_q10(sums->longest_us, m->srtt_us)) == sums->best_l) {
			collected++;
			own_is_collected += i == own;
		}
	}
	sets->collected = collected;
	sets->largest = largest;
	sets->own_is_collected = own_is_collected;
	sets->own_is_largest = own_is_largest;
	return 0;
}

/* OLIA's alpha of the own path, in 1/2^32. */
LAW_INLINE s64 olia_alpha_q32(const struct law_group *group, u32 own, u64 zero, const struct coupled_sums *sums)
{
	struct coupled_sets sets = {};

	coupled_sort(group, own, zero, sums, &sets);
	if (!sets.collected)
		return 0;
	if (sets.own_is_collected)
		return Q32 / (sums->members * sets.collected);
	return sets.own_is_largest ? -(s64)(Q32 / (sums->members * sets.largest)) : 0;
}

/* What the group is told of this connection; in recovery the law's window is ssthresh (difference 3). */
LAW_INLINE void coupled_publish(const struct coupled_state *s, u32 srtt_us, struct law_member *m)
{
	m->cwnd_q10 = law_min(s->cwnd_q32 >> 22, COUPLED_MAX_WINDOW << 10);
	m->srtt_us = srtt_us;
	m->l_bytes = law_max(s->acked_bytes - s->acked_at_loss, s->between_losses_bytes);
}

LAW_INLINE void coupled_grow(struct coupled_state *s, s64 per_packet_q32, u64 acked_q16)
{
	s64 window = (s64)s->cwnd_q32 + (per_packet_q32 * (s64)law_min(acked_q16, Q16 << 12) >> 16);

	s->cwnd_q32 = law_clamp(law_positive(window), Q32, COUPLED_MAX_WINDOW * Q32);
}

/* Slow start; returns what is left for congestion avoidance, in 1/65536 packet. */
LAW_INLINE u64 coupled_slow_start(struct coupled_state *s, u32 acked)
{
	u64 limit = law_min(s->ssthresh, COUPLED_MAX_WINDOW) * Q32, step;

	if (s->cwnd_q32 >= limit)
		return acked * Q16;
	step = law_min(acked * Q32, limit - s->cwnd_q32);
	s->cwnd_q32 += step;
	return (acked * Q32 - step) >> 16;
}

/* `group->member[own]` must have been told before. */
LAW_INLINE void coupled_on_ack(struct coupled_state *s, const struct law_ack *ack,
			       const struct law_group *group, u32 own, bool is_olia)
{
	struct coupled_sums sums = {};
	s64 step, reno;
	u64 acked_q16;

	if (!ack->may_grow)
		return;
	acked_q16 = coupled_slow_start(s, law_min(ack->acked, 1U << 12));
	if (!acked_q16)
		return;
	reno = (s64)((Q32 << 16) / law_max(s->cwnd_q32 >> 16, Q16));
	coupled_sum(group, own, s->zero, &sums);
	s->members = sums.members;
	if (sums.members < 2 || !sums.own_q10) {
		coupled_grow(s, reno, acked_q16);
		return;
	}
	if (is_olia) {
		s->alpha_q32 = olia_alpha_q32(group, own, s->zero, &sums);
		step = (s64)coupled_share_q32(sums.own_q10, sums.sum_q10);
		/* alpha / w: |alpha| <= 1, so the shifted value stays inside 63 bits; BPF divides unsigned only. */
		if (s->alpha_q32 >= 0)
			step += (u64)s->alpha_q32 * Q16 / law_max(s->cwnd_q32 >> 16, Q16);
		else
			step -= (u64)-s->alpha_q32 * Q16 / law_max(s->cwnd_q32 >> 16, Q16);
	} else {
		u64 share = coupled_share_q32(sums.best_q10, sums.sum_q10);

		step = (s64)law_min(share, reno);
	}
	coupled_grow(s, step, acked_q16);
}

LAW_INLINE u32 coupled_on_congestion(struct coupled_state *s)
{
	s->cwnd_q32 = law_max(s->cwnd_q32 / 2, law_min(s->cwnd_q32, 2 * Q32));
	s->ssthresh = law_max(coupled_cwnd(s), 2);
	if (s->acked_bytes > s->acked_at_loss) {
		s->between_losses_bytes = s->acked_bytes - s->acked_at_loss;
		s->acked_at_loss = s->acked_bytes;
	}
	return s->ssthresh;
}

LAW_INLINE void coupled_on_recovery_exit(struct coupled_state *s)
{
	(void)s;
}

LAW_INLINE void coupled_on_rtt(struct coupled_state *s, u32 rtt_us)
{
	(void)s;
	(void)rtt_us;
}

LAW_INLINE void coupled_on_rto(struct coupled_state *s, bool is_first)
{
	if (is_first)
		coupled_on_congestion(s);
	s->cwnd_q32 = Q32;
}

#endif
