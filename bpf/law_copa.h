/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Copa: steers the window towards the rate 1 / (delta d_q), d_q the queueing delay.
 *
 * Reference: Arun, Balakrishnan, NSDI 2018, sections 2.1 and 2.2. Rules, defaults and deviations are those of the Rust control
 * (crates/cc, copa.rs), which this stands for. Differences from it: 1/delta is kept to 1/65536, and ends at 2^20 packets.
 *
 * Fixed point: window in packets / 2^32, 1/delta and velocity in 1/65536. Invariant: 2 <= cwnd <= max_cwnd but for timeouts.
 * Tested against the Rust control event by event (crates/cc/tests/laws), and on the kernel (tests/testbed).
 */
#ifndef PLAYPATH_LAW_COPA_H
#define PLAYPATH_LAW_COPA_H

#include "law_filter.h"

#define COPA_RTT_MIN_WINDOW_US 10000000
#define COPA_RTT_MAX_ROUNDS 4
#define COPA_EMPTY_ROUNDS 5
#define COPA_PATIENCE 3
#define COPA_PACING_GAIN 2
/* Keeps window times RTT inside 64 bits. */
#define COPA_MAX_RTT_US (1ULL << 27)
#define COPA_MAX_INVERSE (LAW_MAX_WINDOW * Q16)

enum copa_direction { COPA_NOWHERE, COPA_UP, COPA_DOWN };

struct copa_velocity {
	u64 v_q16;
	u64 round_cwnd;
	u32 direction;
	u32 same_rounds;
};

struct copa_before {
	u64 cwnd;
	u64 extra_q16;
	bool in_slow_start;
	bool is_there;
};

struct copa_state {
	u64 cwnd; /* packets, 2^32 */
	u64 extra_q16; /* 1/delta beyond the parameter's: competitive mode */
	u64 pacing; /* bytes/s; 0: none yet */
	struct law_filter min, standing, max; /* us */
	u64 emptied_us; /* when the queue was nearly empty last; 0: no ACK yet */
	u64 queueing_us;
	struct copa_velocity velocity;
	struct copa_before before;
	u32 rounds;
	bool in_slow_start;
	bool is_competitive;
	bool has_lost_in_round;
};

LAW_INLINE void copa_turn(struct copa_velocity *v, u32 direction, u64 cwnd)
{
	v->v_q16 = Q16;
	v->direction = direction;
	v->same_rounds = 0;
	v->round_cwnd = cwnd;
}

LAW_INLINE void copa_init(struct copa_state *s, u32 initial_window)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->cwnd = law_max(initial_window, 1) << 32;
	s->in_slow_start = true;
	copa_turn(&s->velocity, COPA_NOWHERE, 0);
}

LAW_INLINE u64 copa_cwnd(const struct copa_state *s)
{
	return s->cwnd >> 32;
}

LAW_INLINE u32 copa_ssthresh(const struct copa_state *s)
{
	return LAW_SSTHRESH_INFINITE;
}

LAW_INLINE u64 copa_inverse_q16(const u32 *param)
{
	return Q16 * COPA_DELTA_SCALE / LAW_PARAM(param, COPA_DELTA);
}

LAW_INLINE bool copa_competes(const struct copa_state *s, const u32 *param)
{
	return param[COPA_MODE] == COPA_MODE_AUTO ? s->is_competitive : param[COPA_MODE] == COPA_MODE_COMPETITIVE;
}

LAW_INLINE void copa_set_pacing(struct copa_state *s, const struct law_view *view, u64 rtt_us)
{
	if (rtt_us)
		s->pacing = law_min(COPA_PACING_GAIN * (s->cwnd >> 16) * view->mss / rtt_us, 1ULL << 43) * 1000000 >> 16;
}

LAW_INLINE void copa_on_start(struct copa_state *s, const struct law_view *view)
{
	copa_set_pacing(s, view, view->srtt_us);
}

/* Section 2.2: nearly empty within a tenth of the spread of the last four round trips. */
LAW_INLINE void copa_take_rtt(struct copa_state *s, const struct law_view *view, u64 rtt_us)
{
	u64 srtt_us = view->srtt_us ? view->srtt_us : rtt_us;

	law_filter_add(&s->min, COPA_RTT_MIN_WINDOW_US, view->now_us, rtt_us, false);
	law_filter_add(&s->standing, srtt_us / 2, view->now_us, rtt_us, false);
	law_filter_add(&s->max, srtt_us * COPA_RTT_MAX_ROUNDS, view->now_us, rtt_us, true);
	s->queueing_us = law_positive(s->standing.best.value - s->min.best.value);
	if (!s->emptied_us || s->queueing_us * 10 <= (u64)law_positive(s->max.best.value - s->min.best.value))
		s->emptied_us = view->now_us;
}

LAW_INLINE void copa_choose_mode(struct copa_state *s, const u32 *param, const struct law_view *view)
{
	bool is_held = view->now_us - s->emptied_us > (u64)view->srtt_us * COPA_EMPTY_ROUNDS;

	if (param[COPA_MODE] != COPA_MODE_AUTO)
		return;
	if (s->is_competitive && !is_held)
		s->extra_q16 = 0;
	s->is_competitive = is_held;
}

/* Section 2.1: once per window. */
LAW_INLINE void copa_end_round(struct copa_state *s, const u32 *param)
{
	struct copa_velocity *v = &s->velocity;
	u32 direction = s->cwnd > v->round_cwnd ? COPA_UP : COPA_DOWN;

	if (!s->in_slow_start) {
		v->round_cwnd = s->cwnd;
		if (v->direction != direction)
			copa_turn(v, direction, s->cwnd);
		else if (++v->same_rounds >= COPA_PATIENCE)
			v->v_q16 = law_min(v->v_q16 * 2, COPA_MAX_INVERSE);
	}
	if (copa_competes(s, param) && !s->has_lost_in_round)
		s->extra_q16 = law_min(s->extra_q16 + Q16, COPA_MAX_INVERSE);
	s->has_lost_in_round = false;
	s->rounds++;
}

/* v / (delta cwnd) of a packet; v is at most delta cwnd, and falls to 1 when the direction turns. */
LAW_INLINE u64 copa_step(struct copa_state *s, u32 direction, u64 inverse_q16)
{
	struct copa_velocity *v = &s->velocity;
	u64 cwnd_q16 = s->cwnd >> 16, of, whole;

	if (v->v_q16 > Q16 && v->direction != direction)
		copa_turn(v, direction, s->cwnd);
	v->v_q16 = law_min(v->v_q16, law_max(s->cwnd / inverse_q16, Q16));
	of = v->v_q16 * inverse_q16;
	whole = of / cwnd_q16;
	return (whole << 16) + (((of - whole * cwnd_q16) << 16) / cwnd_q16);
}

/* Section 2.1, steps 3 and 5: cwnd / RTTstanding against 1 / (delta d_q), without the divisions. */
LAW_INLINE void copa_move(struct copa_state *s, const u32 *param, const struct law_ack *ack)
{
	u64 inverse_q16 = law_min(copa_inverse_q16(param) + s->extra_q16, COPA_MAX_INVERSE);
	u64 packets = law_min(ack->delivered, 1024);
	u64 step;

	if ((s->cwnd >> 16) * s->queueing_us <= inverse_q16 * s->standing.best.value) {
		if (!ack->may_grow)
			return;
		step = s->in_slow_start ? 1ULL << 32 : copa_step(s, COPA_UP, inverse_q16);
		s->cwnd += packets * step;
	} else {
		if (s->in_slow_start)
			copa_turn(&s->velocity, COPA_NOWHERE, s->cwnd);
		s->in_slow_start = false;
		step = packets * copa_step(s, COPA_DOWN, inverse_q16);
		s->cwnd = s->cwnd > step ? s->cwnd - step : 0;
	}
	s->cwnd = law_clamp(s->cwnd, 2ULL << 32, LAW_PARAM(param, COPA_MAX_CWND) << 32);
}

LAW_INLINE void copa_on_ack(struct copa_state *s, const u32 *param, const struct law_view *view, const struct law_ack *ack)
{
	u64 rtt_us = law_min(ack->rtt_us, COPA_MAX_RTT_US);

	if (!rtt_us)
		return;
	copa_take_rtt(s, view, rtt_us);
	copa_choose_mode(s, param, view);
	if (ack->round_start)
		copa_end_round(s, param);
	copa_move(s, param, ack);
	copa_set_pacing(s, view, s->standing.best.value);
}

LAW_INLINE void copa_remember(struct copa_state *s)
{
	s->before = (struct copa_before){ s->cwnd, s->extra_q16, s->in_slow_start, true };
}

/* In competitive mode 1/delta halves, down to the default mode's. */
LAW_INLINE void copa_on_congestion(struct copa_state *s, const u32 *param, const struct law_view *view, bool is_ecn)
{
	copa_remember(s);
	s->has_lost_in_round = true;
	if (copa_competes(s, param))
		s->extra_q16 = law_positive(s->extra_q16 - copa_inverse_q16(param)) / 2;
}

LAW_INLINE void copa_on_rto(struct copa_state *s, const u32 *param, const struct law_view *view, bool is_first)
{
	if (is_first)
		copa_remember(s);
	s->cwnd = 1ULL << 32;
	s->in_slow_start = true;
	s->extra_q16 = 0;
	copa_turn(&s->velocity, COPA_NOWHERE, 0);
}

LAW_INLINE void copa_on_undo(struct copa_state *s, const struct law_view *view)
{
	if (!s->before.is_there)
		return;
	s->before.is_there = false;
	s->cwnd = law_max(s->cwnd, s->before.cwnd);
	s->in_slow_start = s->before.in_slow_start;
	s->extra_q16 = law_max(s->extra_q16, s->before.extra_q16);
}

#endif
