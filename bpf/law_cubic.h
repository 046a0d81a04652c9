/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * CUBIC (RFC 9438) for laws that are built on it and know when slow start is over: the arithmetic of the Rust control `cubic` of
 * crates/cc with `paced = true`, `slow_start = "classic"` and its other defaults, in whole numbers. Section numbers are RFC 9438's.
 *
 * Differences from the Rust control:
 *  1. C and fast convergence are fixed: 0.4, on; beta is in thousandths.
 *  2. K and the epoch's time are whole units of 2^-14 s, 61 us, rounded down: W_cubic is off by 1.2 (t - K)^2 of those, 0.002
 *     packets 5 s from the plateau.
 *
 * Fixed point: windows in packets / 2^32, so that the increments of small shares of a packet add up; W_max in packets / 2^16.
 * Invariant: 1 <= cwnd <= LAW_MAX_WINDOW. Tested against the Rust control through law_slack.h (crates/cc/tests/laws).
 */
#ifndef PLAYPATH_LAW_CUBIC_H
#define PLAYPATH_LAW_CUBIC_H

#include "law.h"

#define CUBIC_PACKET (1ULL << 32)
#define CUBIC_MAX_CWND (LAW_MAX_WINDOW * CUBIC_PACKET)
#define CUBIC_INFINITE (~0ULL)
#define CUBIC_BETA 700
/* No ACK counts for more: products with it stay inside 64 bits. */
#define CUBIC_MAX_ACKED 4096
/* 2^-18 s, so that the cube decides as a real number would where it meets w_est, and within 8 s of the plateau; then 2^-14 s up to 128 s
 * to either side of it, where the window is far beyond any bound. */
#define CUBIC_TICKS_PER_S 262144
#define CUBIC_MAX_TICKS ((1U << 21) - 1)

/* What the window grows by; 0 is none. */
struct cubic_growth {
	u64 w_max_q16;
	u64 prior; /* cwnd when ssthresh was set last */
	u64 elapsed_us; /* time of this epoch in which the window could grow */
	u64 updated_us;
	u64 origin_q16;
	u64 w_est;
	u32 k_ticks;
	bool has_epoch;
};

struct cubic_window {
	u64 cwnd;
	u64 ssthresh;
	struct cubic_growth growth;
	/* Before the last reduction. */
	u64 cwnd_before;
	u64 ssthresh_before;
	struct cubic_growth growth_before;
	bool has_before;
	u32 beta; /* thousandths */
	u64 zero; /* a zero that the verifier does not know */
};

LAW_INLINE void cubic_init(struct cubic_window *w, u32 initial_window)
{
	__builtin_memset(w, 0, sizeof(*w));
	w->cwnd = law_clamp(initial_window, 1, LAW_MAX_WINDOW) * CUBIC_PACKET;
	w->ssthresh = CUBIC_INFINITE;
	w->beta = CUBIC_BETA;
}

LAW_INLINE bool cubic_in_slow_start(const struct cubic_window *w)
{
	return w->cwnd < w->ssthresh;
}

/* Set from outside: the epoch ends. */
LAW_INLINE void cubic_set(struct cubic_window *w, u64 cwnd, u64 ssthresh)
{
	w->cwnd = law_clamp(cwnd, CUBIC_PACKET, CUBIC_MAX_CWND);
	w->ssthresh = ssthresh;
	w->growth.has_epoch = false;
}

/* The window could not grow until now. */
LAW_INLINE void cubic_pause(struct cubic_window *w, u64 now_us)
{
	w->growth.updated_us = now_us;
}

/* floor(cbrt(x)), bit by bit. */
LAW_CHECKED_ALONE u64 cubic_root(u64 x, u64 zero)
{
	u64 root = zero;

	for (u32 step = 0; step < 22; step++) {
		u32 shift = 63 - 3 * step;
		u64 bit;

		root *= 2;
		bit = 3 * root * (root + 1) + 1;
		if (x >> shift >= bit) {
			x -= bit << shift;
			root++;
		}
	}
	return root;
}

/* Section 4.2. */
LAW_INLINE u64 cubic_w_cubic_q16(const struct cubic_growth *g, u64 t_us)
{
	u64 t = law_min(t_us, 1ULL << 40) * CUBIC_TICKS_PER_S / 1000000;
	u64 off = t > g->k_ticks ? t - g->k_ticks : g->k_ticks - t;
	u32 coarse = off > CUBIC_MAX_TICKS ? 4 : 0; /* its cube would not fit */
	u64 ticks = law_min(off >> coarse, CUBIC_MAX_TICKS);
	u64 delta = (ticks * ticks * ticks >> (38 - 3 * coarse)) * 2 / 5;

	if (t >= g->k_ticks)
		return law_min(g->origin_q16 + delta, LAW_MAX_WINDOW * Q16);
	return g->origin_q16 > delta ? g->origin_q16 - delta : 0;
}

LAW_INLINE void cubic_begin_epoch(struct cubic_window *w, u64 now_us)
{
	struct cubic_growth *g = &w->growth;
	u64 cwnd = w->cwnd >> 16, lost;
	u32 coarse;

	if (!g->w_max_q16)
		g->w_max_q16 = cwnd;
	if (!g->prior)
		g->prior = w->cwnd;
	g->origin_q16 = law_max(g->w_max_q16, cwnd);
	lost = (law_min(g->origin_q16 - cwnd, LAW_MAX_WINDOW * Q16) * 5 / 2) << 26;
	coarse = lost >> 52 ? 4 : 0;
	g->k_ticks = cubic_root(lost << (12 - 3 * coarse), w->zero) << coarse;
	g->w_est = w->cwnd;
	g->elapsed_us = 0;
	g->updated_us = now_us;
	g->has_epoch = true;
}

/* Sections 4.2 to 4.5. */
LAW_INLINE void cubic_avoid(struct cubic_window *w, const struct law_view *view, u64 acked_q16)
{
	struct cubic_growth *g = &w->growth;
	u64 cwnd = w->cwnd >> 16;
	u64 target;

	if (!g->has_epoch)
		cubic_begin_epoch(w, view->now_us);
	g->elapsed_us += view->now_us - g->updated_us;
	g->updated_us = view->now_us;
	/* Section 4.3: alpha is 3 (1 - 0.7) / (1 + 0.7) = 9/17, whatever beta is now, and 1 from the window of the last reduction on. */
	if (g->w_est >= g->prior)
		g->w_est += (acked_q16 << 32) / cwnd;
	else
		g->w_est += (9 * acked_q16 << 32) / (17 * cwnd);
	if (cubic_w_cubic_q16(g, g->elapsed_us) << 16 < g->w_est) {
		w->cwnd = law_min(law_max(w->cwnd, g->w_est), CUBIC_MAX_CWND);
		return;
	}
	target = law_clamp(cubic_w_cubic_q16(g, g->elapsed_us + view->srtt_us), cwnd, cwnd + cwnd / 2);
	w->cwnd = law_min(w->cwnd + (((target - cwnd) << 24) / cwnd * acked_q16 >> 8), CUBIC_MAX_CWND);
}

/* Slow start takes its part; returns the packets that are left for congestion avoidance. */
LAW_INLINE u64 cubic_slow_start_q16(struct cubic_window *w, const struct law_ack *ack, bool may_grow)
{
	u64 acked = law_min(ack->acked, CUBIC_MAX_ACKED) * CUBIC_PACKET;
	u64 step;

	if (!may_grow)
		return 0;
	if (!cubic_in_slow_start(w))
		return acked >> 16;
	step = law_min(acked, w->ssthresh - w->cwnd);
	w->cwnd = law_min(w->cwnd + step, CUBIC_MAX_CWND);
	return (acked - step) >> 16;
}

LAW_INLINE void cubic_on_ack(struct cubic_window *w, const struct law_view *view, const struct law_ack *ack, bool may_grow)
{
	u64 acked_q16 = cubic_slow_start_q16(w, ack, may_grow);

	if (acked_q16)
		cubic_avoid(w, view, acked_q16);
	else
		cubic_pause(w, view->now_us);
}

LAW_INLINE void cubic_remember(struct cubic_window *w)
{
	w->cwnd_before = w->cwnd;
	w->ssthresh_before = w->ssthresh;
	w->growth_before = w->growth;
	w->has_before = true;
}

/* Sections 4.6 and 4.7: beta of what is in flight; W_max gives way if it is below the last one. */
LAW_INLINE void cubic_reduce(struct cubic_window *w, const struct law_view *view, bool is_ecn)
{
	u64 window = law_min(w->cwnd, view->flight_size * CUBIC_PACKET) * w->beta / 1000;
	u64 cwnd = w->cwnd >> 16;

	cubic_remember(w);
	w->growth.w_max_q16 = cwnd < w->growth.w_max_q16 ? cwnd * (1000 + w->beta) / 2000 : cwnd;
	w->growth.prior = w->cwnd;
	w->growth.has_epoch = false;
	w->ssthresh = law_max(window, 2 * CUBIC_PACKET);
	w->cwnd = law_min(w->cwnd, is_ecn ? law_max(window, CUBIC_PACKET) : w->ssthresh);
}

/* Section 4.8: the next congestion avoidance has a plateau of its own. */
LAW_INLINE void cubic_on_rto(struct cubic_window *w, const struct law_view *view, bool is_first)
{
	if (is_first) {
		u64 known = w->ssthresh == CUBIC_INFINITE ? CUBIC_MAX_CWND : law_max(w->cwnd, w->ssthresh);

		cubic_remember(w);
		w->ssthresh = law_max(law_min(known, view->flight_size * CUBIC_PACKET) * w->beta / 1000, 2 * CUBIC_PACKET);
		w->growth.w_max_q16 = 0;
		w->growth.prior = w->cwnd;
		w->growth.has_epoch = false;
	}
	w->cwnd = CUBIC_PACKET;
}

/* Section 4.9.2: all is taken back, unless the window has outgrown what it was. */
LAW_INLINE void cubic_on_undo(struct cubic_window *w)
{
	if (w->has_before && w->cwnd <= w->cwnd_before) {
		w->cwnd = w->cwnd_before;
		w->ssthresh = law_max(w->ssthresh, w->ssthresh_before);
		w->growth = w->growth_before;
	}
	w->has_before = false;
}

#endif
