/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Slack: CUBIC that holds its pipe under losses without a queue, and yields while the viewer has time.
 *
 * Reference: the Rust control `slack` of crates/cc, and docs/slack.md. With pipe P = rate min_rtt, backlog
 * N = flight (rtt - min_rtt) / rtt, and urgency u of the deadline, 0 to 1:
 *  1. growth is CUBIC's, never more; the first slow start ends when a whole round shows a queue;
 *  2. a loss with a queue (an eighth of the RTT, or half of the largest one lately) is CUBIC's; more than `tolerance` of all packets
 *     lost without are, but not below what the flow gets in a min_rtt; others of a viewer are nothing; no other cut of a viewer who has
 *     no time falls below P, and while it is short each takes a `weight`th of CUBIC's, twice that where it plays and adapts; after a
 *     timeout slow start is a first one;
 *  3. of a player that has one rate at most allowance / (1 - u) packets stand in the queue;
 *  4. with u < 1 pacing is at most ease / (1 - u) times the best rate that the player can choose; a window that carries more does not
 *     grow.
 * A player that adapts has time (u < 1) only while the flow gets `enough` times its best rate, a film only if the flow has got that
 * since it last had none. A viewer is short that waits for its
 * first picture, whose flow gets less than its best rate, or that has one rate, no time and gets less than `enough`.
 *
 * Differences from the Rust control:
 *  1. `beta` and `floor` have their defaults, 0.7 and 1.
 *  2. What the player tells is words of the parameter block. A report is taken when the word `report` has changed: at the first
 *     packet after a pause, or at the next acknowledgement.
 *  3. What a cut leaves is in whole thousandths.
 *  4. A buffer of more than 2 h is one of 2 h; 1 / (1 - u) is at most 2^14.
 *  5. A subflow of MPTCP reckons the level from its own bytes, and hears what the block of its own addresses holds.
 *
 * Fixed point: windows as in law_cubic.h; packets in 1/65536; the player's level in nanoseconds; 1 / (1 - u) in 1/2^20, where 0
 * stands for u = 1. Tested against the Rust control event by event (crates/cc/tests/laws), and on the kernel (tests/testbed).
 */
#ifndef PLAYPATH_LAW_SLACK_H
#define PLAYPATH_LAW_SLACK_H

#include "law_cubic.h"
#include "law_filter.h"

#define SLACK_RATE_ROUNDS 10
#define SLACK_JUDGED_PACKETS 100
/* A loss comes with a queue if so much of the RTT is queueing: 1/8; and a rise of so much, or of 4 ms, ends slow start. */
#define SLACK_QUEUE_SHARE 8
#define SLACK_MIN_RISE_US 4000
#define SLACK_SAMPLES 8
#define SLACK_QUEUE_MEMORY_MS 10000
#define SLACK_MEAN_ROUNDS 4
#define SLACK_NEWCOMER 2
#define SLACK_KEPT_TENTHS 9
#define SLACK_PLAIN_PACE 1
/* Above 1 packet a microsecond the mean rate is more than enough for any video. */
#define SLACK_MAX_RATE (1ULL << 32)
#define SLACK_MIN_CWND (2 * CUBIC_PACKET)
#define SLACK_MAX_RTT_US (1ULL << 28)
#define SLACK_MAX_NS (1ULL << 43)
#define SLACK_ONE_Q20 (1ULL << 20)
#define SLACK_MAX_EASE_Q20 (1ULL << 34)
/* Most of 1 / (1 - u) that the pace follows. */
#define SLACK_MAX_HASTE_Q20 (64ULL << 20)

enum slack_phase { SLACK_SLOW_START, SLACK_AVOIDANCE, SLACK_YIELDING };

/* The player's buffer as the sender reckons it. */
struct slack_playout {
	u64 size_ns;
	u64 level_ns;
	u64 delivered_ns;
	u64 at_us;
	u64 ns_per_byte_q16;
	bool has_report;
	bool is_playing;
	bool has_begun;
	bool has_choice; /* it has asked for less than its best rate, or does not tell that */
};

struct slack_state {
	struct cubic_window cubic;
	struct slack_playout playout;
	struct law_filter rate; /* packets/us, 2^32 */
	struct law_filter largest; /* queueing_q16 */
	u64 mean_rate; /* over four rounds */
	u64 sampled; /* the round's last delivery rate; 0: none */
	u32 last_rtts[SLACK_SAMPLES];
	u32 samples;
	u32 last_round_min_us; /* 0: none */
	u32 suspected_us; /* smallest RTT before a rise that may be a queue; 0: no rise */
	bool suspicion_has_round;
	u64 rtt_q16; /* smoothed over four samples, us */
	u64 queueing_q16;
	u64 ease_q20; /* 1 / (1 - u); 0: nothing is eased */
	u64 pacing; /* bytes/s; 0: not paced */
	u64 cut_at_us;
	u32 report;
	u32 rounds;
	u32 round_min_us;
	u32 round_in_flight;
	u32 judged_delivered;
	u32 judged_lost;
	bool is_over_allowance;
	bool is_paced_below_window; /* nothing tries what the window could carry */
	bool has_ignored;
	bool has_cut; /* the recovery under way began with a cut */
	bool has_reached_enough; /* since the viewer last had no time */
	bool is_short; /* the viewer needs more than it gets */
	u64 reserve_ns; /* how long a level must last to be calm */
};

LAW_INLINE void slack_init(struct slack_state *s, u32 initial_window)
{
	__builtin_memset(s, 0, sizeof(*s));
	cubic_init(&s->cubic, initial_window);
}

LAW_INLINE u32 slack_ssthresh(const struct slack_state *s)
{
	return s->cubic.ssthresh == CUBIC_INFINITE ? LAW_SSTHRESH_INFINITE : s->cubic.ssthresh >> 32;
}

LAW_INLINE u64 slack_cwnd(const struct slack_state *s)
{
	return s->cubic.cwnd >> 32;
}

LAW_INLINE u32 slack_phase(const struct slack_state *s)
{
	return cubic_in_slow_start(&s->cubic) ? SLACK_SLOW_START : s->ease_q20 ? SLACK_YIELDING : SLACK_AVOIDANCE;
}

/* `bytes` more have been delivered. A player that starts does not play before 98 % of its buffer is there. */
LAW_INLINE void slack_advance(struct slack_playout *p, u64 now_us, u64 bytes)
{
	u64 gone_ns = p->is_playing ? law_min(now_us - p->at_us, SLACK_MAX_NS) * 1000 : 0;
	u64 media_ns = law_min(bytes, 1 << 24) * p->ns_per_byte_q16 >> 16;

	p->at_us = now_us;
	p->level_ns = p->level_ns > gone_ns ? p->level_ns - gone_ns : 0;
	p->level_ns = law_min(p->level_ns + media_ns, p->size_ns);
	/* It has begun for sure when more than it can hold was sent. */
	p->delivered_ns = law_min(p->delivered_ns + media_ns, SLACK_MAX_NS * 2);
	p->has_begun |= p->delivered_ns * 4 >= p->size_ns * 5;
	p->is_playing = p->is_playing ? p->level_ns > 0 : p->level_ns * 50 >= p->size_ns * 49;
}

/* Bytes at a rate: how long they last. */
LAW_INLINE u64 slack_lasting_ns(u64 bytes, u64 kbps)
{
	return law_min(bytes * 8000000 / kbps, SLACK_MAX_NS);
}

/* Without the buffer's size, the rate, and the object's size and length, nothing is known. */
LAW_INLINE void slack_take_report(struct slack_state *s, const u32 *param, u64 now_us)
{
	struct slack_playout *p = &s->playout;
	u64 kbps = LAW_PARAM(param, SLACK_VIDEO_KBPS), free = param[SLACK_POB_FREE_BYTES];
	u64 size = LAW_PARAM(param, SLACK_POB_BYTES);
	u64 bytes = param[SLACK_OBJECT_BYTES], length_ms = LAW_PARAM(param, SLACK_OBJECT_MS);
	u64 top_kbps = LAW_PARAM(param, SLACK_TOP_KBPS);
	bool has_level = free != SLACK_POB_FREE_BYTES_MAX, was_playing;
	u64 free_ns;

	if (!kbps || !size || !bytes || !length_ms) {
		p->has_report = false;
		return;
	}
	if (p->has_report)
		slack_advance(p, now_us, 0);
	was_playing = p->has_report && p->is_playing;
	p->size_ns = slack_lasting_ns(size, kbps);
	free_ns = slack_lasting_ns(law_min(free, SLACK_POB_BYTES_MAX), kbps);
	if (has_level)
		p->level_ns = p->size_ns > free_ns ? p->size_ns - free_ns : 0;
	else if (!p->has_report)
		p->level_ns = 0;
	p->level_ns = law_min(p->level_ns, p->size_ns);
	/* At most 4 ms a byte: products with the bytes of an ACK stay inside 64 bits. */
	p->ns_per_byte_q16 = law_min((length_ms * 1000000 << 16) / bytes, 1ULL << 38);
	p->is_playing = !param[SLACK_URGENT] && p->level_ns && (has_level || was_playing);
	if (!p->has_report)
		p->delivered_ns = 0;
	p->has_begun = (p->has_report && p->has_begun) || has_level;
	p->has_choice = (p->has_report && p->has_choice) || kbps < top_kbps || !top_kbps;
	p->at_us = now_us;
	p->has_report = true;
}

LAW_INLINE void slack_on_report(struct slack_state *s, const u32 *param, const struct law_view *view)
{
	if (param[SLACK_REPORT] == s->report)
		return;
	s->report = param[SLACK_REPORT];
	slack_take_report(s, param, view->now_us);
}

/* Of a player, and of its best rate. */
LAW_INLINE bool slack_has_report(const struct slack_state *s, const u32 *param)
{
	return s->playout.has_report && LAW_PARAM(param, SLACK_TOP_KBPS);
}

/* The flow gets so many best rates, in thousandths. Packets/us / 2^32 of mss bytes, against thousandths of kbit/s: 8e6 = 2^9 15625. */
LAW_INLINE bool slack_gets(const struct slack_state *s, const u32 *param, const struct law_view *view, u64 rates)
{
	u64 needed = rates * LAW_PARAM(param, SLACK_TOP_KBPS);

	return law_min(s->mean_rate, SLACK_MAX_RATE) * law_min(view->mss, 65535) * 15625 >= needed << 23;
}

/* Or, while it is paced, nine tenths of the pace. */
LAW_INLINE bool slack_has_enough(const struct slack_state *s, const u32 *param, const struct law_view *view)
{
	u64 enough = LAW_PARAM(param, SLACK_ENOUGH), kept = LAW_PARAM(param, SLACK_EASE) * SLACK_KEPT_TENTHS / 10;

	return slack_gets(s, param, view, s->ease_q20 ? law_min(enough, kept) : enough);
}

/* From one cut to the next of a CUBIC flow with this window: the smaller of sections 4.2 and 4.3. A cut takes 3/10, and alpha is 9/17. */
LAW_INLINE u64 slack_between_cuts_us(u64 window_q16, u64 srtt_us, u64 zero)
{
	u64 of_reno = law_min(window_q16, 1ULL << 35) * srtt_us / 30 * 17 >> 16;
	u64 of_cubic = cubic_root((window_q16 * 3 / 4) << 26, zero) * 1000000 / (CUBIC_TICKS_PER_S / 16);

	return law_min(of_reno, of_cubic);
}

/* CUBICs that the viewer counts for while it is short, in SLACK_WEIGHT_SCALE: half as many where it plays and can choose a worse rate. */
LAW_INLINE u64 slack_weight(const struct slack_state *s, const u32 *param)
{
	u64 weight = LAW_PARAM(param, SLACK_WEIGHT);

	return s->playout.has_begun && s->playout.has_choice ? law_max(weight / 2, SLACK_WEIGHT_SCALE) : weight;
}

/* How long a level must last to be calm: twice the rounds until the mean rate shows that a CUBIC flow has taken the path, and the
 * cuts until `enough`, thousandths of kbit/s as the parameters have them, is won back. Rates in packets a second / 2^10, ratios / 2^20. */
LAW_CHECKED_ALONE int slack_reserve(struct slack_state *s LAW_GIVEN, const struct law_view *view LAW_GIVEN, u64 weight, u64 enough)
{
	u64 srtt = law_min(view->srtt_us, SLACK_MAX_RTT_US);
	u64 needed = law_min((enough << 7) / law_max(view->mss, 1), 1ULL << 34);
	u64 window, ratio, cuts;

	s->reserve_ns = SLACK_MAX_NS;
	if (!s->mean_rate || weight <= SLACK_WEIGHT_SCALE)
		return 0;
	window = law_min(needed * srtt / 1000000 << 6, LAW_MAX_WINDOW * Q16);
	/* 2^32 / 10^6 = 4295 */
	ratio = law_clamp((needed * 4295 << 10) / s->mean_rate, SLACK_NEWCOMER * SLACK_ONE_Q20, SLACK_ONE_Q20 << 10);
	/* A cut of whom is short leaves 1 - 3 / (10 weight), the other's 7/10. */
	cuts = law_min((ratio - SLACK_ONE_Q20) * 7 * weight / (3 * (weight - SLACK_WEIGHT_SCALE)), SLACK_MAX_EASE_Q20);
	cuts = slack_between_cuts_us(window, srtt, s->cubic.zero) * cuts >> 20;
	s->reserve_ns = law_min(2000 * (SLACK_MEAN_ROUNDS * srtt + law_min(cuts, SLACK_MAX_NS / 1000)), SLACK_MAX_NS);
	return 0;
}

/* 1 / (1 - u), where 1 - u is how far the level is from `alarm` to `calm`; 0 for u = 1. */
LAW_INLINE u64 slack_ease_of_level(const struct slack_playout *p, const u32 *param, u64 reserve)
{
	u64 high = law_max(p->size_ns * LAW_PARAM(param, SLACK_CALM) / SLACK_CALM_SCALE, reserve);
	u64 low = law_max(p->size_ns * LAW_PARAM(param, SLACK_ALARM) / SLACK_ALARM_SCALE, reserve / 2);
	u64 span = law_clamp(high > low ? high - low : 0, 1000000, SLACK_MAX_NS);

	/* As in the Rust control, u = 0 is at `high`, also where that is below `low`. */
	if (p->level_ns + span <= high)
		return 0;
	return p->level_ns >= high ? SLACK_ONE_Q20 : law_min((span << 20) / (p->level_ns + span - high), SLACK_MAX_EASE_Q20);
}

LAW_INLINE u64 slack_ease_q20(struct slack_state *s, const u32 *param, const struct law_view *view)
{
	const struct slack_playout *p = &s->playout;
	u64 of_haste = SLACK_HASTE_SCALE - LAW_PARAM(param, SLACK_HASTE);
	u64 ease, reserve;
	bool has_enough;

	if (!slack_has_report(s, param) || !p->is_playing || !p->has_begun)
		return 0;
	has_enough = slack_has_enough(s, param, view);
	if (p->has_choice && !has_enough)
		return 0;
	slack_reserve(s, view, slack_weight(s, param), LAW_PARAM(param, SLACK_ENOUGH) * LAW_PARAM(param, SLACK_TOP_KBPS));
	reserve = s->reserve_ns;
	ease = slack_ease_of_level(p, param, reserve);
	if (!has_enough || p->level_ns < reserve || !of_haste)
		return ease;
	of_haste = SLACK_HASTE_SCALE * SLACK_ONE_Q20 / of_haste;
	return ease ? law_min(ease, of_haste) : of_haste;
}

/* A film lets go only what can come back: competing must have brought `enough` since the viewer last had no time. */
LAW_INLINE u64 slack_ease_of_film(struct slack_state *s, const u32 *param, const struct law_view *view, u64 ease)
{
	if (!slack_has_report(s, param))
		return ease;
	s->has_reached_enough &= ease != 0;
	s->has_reached_enough |= slack_gets(s, param, view, LAW_PARAM(param, SLACK_ENOUGH));
	return s->playout.has_choice || s->has_reached_enough ? ease : 0;
}

/* More would show. A flow that gets the best rate of a player that adapts gives it all that it could choose. */
LAW_INLINE bool slack_is_short(const struct slack_state *s, const u32 *param, const struct law_view *view)
{
	const struct slack_playout *p = &s->playout;
	u64 needs = p->has_choice ? SLACK_ENOUGH_SCALE : LAW_PARAM(param, SLACK_ENOUGH);

	return slack_has_report(s, param) && !s->ease_q20 && (!p->has_begun || !slack_gets(s, param, view, needs));
}

/* Packets that fill the pipe at the rate that this flow gets. */
LAW_INLINE u64 slack_pipe(const struct slack_state *s, const struct law_view *view)
{
	if (view->min_rtt_us > SLACK_MAX_RTT_US)
		return 0;
	return law_min(s->rate.best.value * view->min_rtt_us, CUBIC_MAX_CWND);
}

/* What a packet lost now has met: an eighth of the RTT, or half of the largest queue lately, where that held a packet of ours. */
LAW_INLINE bool slack_has_queue(const struct slack_state *s)
{
	u64 largest = s->largest.best.value;

	if (!s->rtt_q16)
		return false;
	if (s->queueing_q16 * SLACK_QUEUE_SHARE >= s->rtt_q16)
		return true;
	return 2 * s->queueing_q16 >= largest && (largest >> 16) * s->rate.best.value >= 1ULL << 32;
}

LAW_INLINE bool slack_has_risen(u64 rtt_us, u64 base_us)
{
	return rtt_us > base_us && SLACK_QUEUE_SHARE * (rtt_us - base_us) >= law_max(SLACK_QUEUE_SHARE * SLACK_MIN_RISE_US, rtt_us);
}

/* The window falls and slow start is over; never rises. */
LAW_INLINE void slack_lower_to(struct slack_state *s, u64 cwnd)
{
	cwnd = law_min(cwnd, s->cubic.cwnd);
	cubic_set(&s->cubic, cwnd, law_min(s->cubic.ssthresh, cwnd));
}

/* CUBIC does not grow in a recovery. Of the flows that a short viewer counts for one recovers and the others grow, for a round trip. */
LAW_INLINE bool slack_rests(const struct slack_state *s, const struct law_view *view)
{
	return s->has_cut && (!s->is_short || view->now_us - s->cut_at_us > view->srtt_us);
}

/* Rule 2. A cut takes a packet at least. In a frame of its own: within slack_on_ack its details would exceed BPF's 512 bytes of stack. */
LAW_CHECKED_ALONE int slack_reduce(struct slack_state *s LAW_GIVEN, const struct law_view *view LAW_GIVEN, bool is_ecn, u64 floor)
{
	u64 from = law_min(s->cubic.cwnd, view->flight_size * CUBIC_PACKET);

	cubic_reduce(&s->cubic, view, is_ecn);
	s->has_ignored = false;
	s->has_cut = true;
	s->cut_at_us = view->now_us;
	if (s->is_short)
		slack_lower_to(s, law_max(from, SLACK_MIN_CWND + CUBIC_PACKET) - CUBIC_PACKET);
	if (s->cubic.cwnd < floor)
		cubic_set(&s->cubic, floor, floor);
	return 0;
}

/* More losses than `tolerance`, of at least so many packets. */
LAW_INLINE bool slack_loses_too_much(struct slack_state *s, const u32 *param, const struct law_view *view)
{
	u64 delivered = view->delivered - s->judged_delivered, lost = view->lost - s->judged_lost;

	if (delivered + lost < SLACK_JUDGED_PACKETS)
		return false;
	s->judged_delivered = view->delivered;
	s->judged_lost = view->lost;
	return lost * SLACK_TOLERANCE_SCALE > LAW_PARAM(param, SLACK_TOLERANCE) * (delivered + lost);
}

LAW_INLINE u64 slack_allowance_q16(const struct slack_state *s, const u32 *param)
{
	return LAW_PARAM(param, SLACK_ALLOWANCE) * s->ease_q20 / SLACK_ALLOWANCE_SCALE >> 4;
}

/* Rules 2 and 3 at the end of a round trip. */
LAW_INLINE void slack_end_round(struct slack_state *s, const u32 *param, const struct law_view *view)
{
	u64 min = law_min(s->round_min_us, SLACK_MAX_RTT_US);
	u64 in_flight = law_min(s->round_in_flight, LAW_MAX_WINDOW);
	u64 backlog, allowance, excess;

	s->rounds++;
	if (s->sampled)
		s->mean_rate = (3 * s->mean_rate + s->sampled) / 4;
	s->sampled = 0;
	s->last_round_min_us = min;
	s->round_min_us = 0;
	s->round_in_flight = 0;
	if (!min || view->min_rtt_us > SLACK_MAX_RTT_US)
		return;
	backlog = min > view->min_rtt_us ? (in_flight * (min - view->min_rtt_us) << 16) / min : 0;
	if (slack_loses_too_much(s, param, view) && s->has_ignored) {
		s->cubic.beta = CUBIC_BETA;
		slack_reduce(s, view, false, law_min(law_min(s->mean_rate, 8ULL << 32) * view->min_rtt_us, s->cubic.cwnd));
	}
	allowance = slack_allowance_q16(s, param);
	s->is_over_allowance = s->ease_q20 && !s->playout.has_choice && backlog >= allowance;
	if (!s->is_over_allowance || backlog == allowance)
		return;
	/* FAST's gamma: half of the excess. */
	excess = (backlog - allowance) << 15;
	excess = s->cubic.cwnd > excess ? s->cubic.cwnd - excess : 0;
	slack_lower_to(s, law_max(law_max(excess, slack_pipe(s, view)), SLACK_MIN_CWND));
}

LAW_INLINE void slack_measure(struct slack_state *s, const struct law_view *view, const struct law_ack *ack)
{
	u64 rtt = law_min(ack->rtt_us, SLACK_MAX_RTT_US);

	if (rtt) {
		u64 base_q16 = law_min(view->min_rtt_us, SLACK_MAX_RTT_US) << 16;

		s->round_min_us = s->round_min_us ? law_min(s->round_min_us, rtt) : rtt;
		s->last_rtts[s->samples++ % SLACK_SAMPLES] = rtt;
		s->rtt_q16 = (3 * s->rtt_q16 + (rtt << 16)) / 4;
		s->queueing_q16 = s->rtt_q16 > base_q16 ? s->rtt_q16 - base_q16 : 0;
		law_filter_add(&s->largest, SLACK_QUEUE_MEMORY_MS, view->now_us / 1000, s->queueing_q16, true);
	}
	s->round_in_flight = law_max(s->round_in_flight, ack->prior_in_flight);
	if (ack->rate_delivered && ack->rate_interval_us) {
		u64 rate = law_min(((u64)ack->rate_delivered << 32) / ack->rate_interval_us, 8ULL << 32);

		if (!ack->rate_app_limited || rate > s->rate.best.value) {
			law_filter_add(&s->rate, SLACK_RATE_ROUNDS, s->rounds, rate, true);
			s->sampled = rate;
		}
	}
}

/* Rule 4 over the pace that the window asks for, in bytes a second. */
LAW_INLINE void slack_pace(struct slack_state *s, const u32 *param, const struct law_view *view)
{
	u64 most = s->is_short ? ~0ULL : SLACK_PLAIN_PACE * SLACK_PACE_SCALE;
	u64 set = law_min(LAW_PARAM(param, SLACK_PACE), most), bytes = (s->cubic.cwnd >> 16) * view->mss >> 16;
	/* Thousandths times kbit/s are bits a second. */
	u64 gain = set && cubic_in_slow_start(&s->cubic) ? law_max(set, 2 * SLACK_PACE_SCALE) : set;
	u64 media = LAW_PARAM(param, SLACK_EASE) * LAW_PARAM(param, SLACK_TOP_KBPS) / 8;

	if (!view->srtt_us)
		return;
	s->pacing = gain ? law_max(bytes * gain / SLACK_PACE_SCALE * 1000000 / view->srtt_us, 1) : 0;
	media = media * (law_min(s->ease_q20, SLACK_MAX_HASTE_Q20) >> 8) >> 12;
	s->is_paced_below_window = s->ease_q20 && media < bytes * 1000000 / view->srtt_us;
	if (s->ease_q20 && (!gain || media < s->pacing))
		s->pacing = law_max(media, 1);
}

/* How the first slow start goes on: a rise of any eight samples may be jitter, and the window waits; one that a whole round shows is
 * a queue and ends it. Whether the window may grow. */
LAW_INLINE bool slack_start(struct slack_state *s, const struct law_view *view, const struct law_ack *ack)
{
	u32 base = s->last_round_min_us ? s->last_round_min_us : view->min_rtt_us;
	u32 least = s->last_rtts[0];
	bool is_queue;

	if (!s->suspected_us) {
		for (u32 i = 1; i < SLACK_SAMPLES; i++)
			least = law_min(least, s->last_rtts[i]);
		if (s->samples >= SLACK_SAMPLES && slack_has_risen(least, base)) {
			s->suspected_us = base;
			s->suspicion_has_round = false;
		}
		return true;
	}
	if (!ack->round_start || !s->suspicion_has_round) {
		s->suspicion_has_round |= ack->round_start;
		return false;
	}
	is_queue = slack_has_risen(base, s->suspected_us);
	s->suspected_us = 0;
	if (is_queue)
		slack_lower_to(s, s->cubic.cwnd);
	return true;
}

LAW_INLINE void slack_on_ack(struct slack_state *s, const u32 *param, const struct law_view *view, const struct law_ack *ack)
{
	bool may_grow;

	s->has_cut &= ack->in_recovery;
	slack_on_report(s, param, view);
	if (s->playout.has_report)
		slack_advance(&s->playout, view->now_us, (u64)ack->delivered * view->mss);
	s->ease_q20 = slack_ease_of_film(s, param, view, slack_ease_q20(s, param, view));
	s->is_short = slack_is_short(s, param, view);
	s->cubic.beta = s->is_short ? 1000 - (1000 - CUBIC_BETA) * SLACK_WEIGHT_SCALE / slack_weight(s, param) : CUBIC_BETA;
	if (ack->round_start)
		slack_end_round(s, param, view);
	slack_measure(s, view, ack);
	/* Later slow starts have a threshold to end at (RFC 9406, section 4.3). */
	may_grow = s->cubic.ssthresh != CUBIC_INFINITE || slack_start(s, view, ack);
	cubic_on_ack(&s->cubic, view, ack, ack->may_grow && may_grow && !s->is_over_allowance && !s->is_paced_below_window && !slack_rests(s, view));
	slack_pace(s, param, view);
}

/* A congestion episode begins. */
LAW_INLINE void slack_on_congestion(struct slack_state *s, const u32 *param, const struct law_view *view, bool is_ecn)
{
	bool keeps_pipe = slack_has_report(s, param) && !s->ease_q20;

	if (is_ecn || !LAW_PARAM(param, SLACK_TOLERANCE) || !slack_has_report(s, param) || slack_has_queue(s))
		slack_reduce(s, view, is_ecn, keeps_pipe ? law_min(slack_pipe(s, view), s->cubic.cwnd) : 0);
	else
		s->has_ignored = true;
}

/* What was in flight under a pace, or before an outage, says nothing of the path: then slow start is a first one. */
LAW_INLINE void slack_on_rto(struct slack_state *s, const u32 *param, const struct law_view *view, bool is_first)
{
	s->has_ignored = false;
	s->has_cut = false;
	cubic_on_rto(&s->cubic, view, is_first);
	if (is_first && slack_has_report(s, param))
		cubic_set(&s->cubic, s->cubic.cwnd, CUBIC_INFINITE);
}

LAW_INLINE void slack_on_undo(struct slack_state *s, const struct law_view *view)
{
	if (!s->has_ignored)
		cubic_on_undo(&s->cubic);
}

/* The first packet after a pause. */
LAW_INLINE void slack_on_wake(struct slack_state *s, const u32 *param, const struct law_view *view)
{
	slack_on_report(s, param, view);
	cubic_pause(&s->cubic, view->now_us);
}

#endif
