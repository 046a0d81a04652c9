/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * newCWV: the window of a rate-limited sender is kept, but trusted only as far as it was used.
 *
 * Reference: RFC 7661. pipeACK is the largest volume acknowledged per round trip over the last max(3 RTT, 1 s). The phase is
 * validated while pipeACK >= cwnd/2 or pipeACK is undefined (at the start and after a recovery), else non-validated. A
 * non-validated window may grow only while it is used fully, is kept for 5 minutes, and on loss falls to half of what was used.
 *
 * Differences from the reference: those of the Rust one, `validation/newcwv.rs` of crates/transport (at least 1 packet after a
 * loss; R in packets). Differences from that: pipeACK is in five buckets here too, but times are in microseconds and wrap
 * never; the loss window is rounded down to whole packets; R counts every retransmission, because the kernel does not tell
 * repeats apart; after a loss that a tail loss probe repaired, R is 0.
 *
 * Units: packets, microseconds. Tested by worked numbers (crates/cc/tests/laws).
 */
#ifndef PLAYPATH_LAW_NEWCWV_H
#define PLAYPATH_LAW_NEWCWV_H

#include "law.h"

/* Section 4.2 leaves the number open; its example has five. */
#define NEWCWV_BUCKETS 5
/* Section 4.4.3. */
#define NEWCWV_PERIOD_US 300000000ULL

struct newcwv_state {
	u64 bucket_us[NEWCWV_BUCKETS]; /* when each fifth of the sampling period began */
	u32 bucket[NEWCWV_BUCKETS]; /* its largest sample */
	u32 newest;
	u32 mark; /* the sample ends when this sequence number is acknowledged */
	u32 acked;
	u32 loss_base; /* max(pipeACK, LossFlightSize) of a loss in the non-validated phase; 0: none */
	u32 initial_window;
	u64 validated_us;
	bool is_defined;
	bool is_sampling;
};

/* New windows; cwnd 0: no change. */
struct newcwv_windows {
	u32 cwnd;
	u32 ssthresh;
};

LAW_INLINE void newcwv_init(struct newcwv_state *s, u64 now_us, u32 initial_window)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->initial_window = initial_window;
	s->validated_us = now_us;
}

/* Sampling period, section 4.2. */
LAW_INLINE u64 newcwv_period_us(u32 srtt_us)
{
	return law_max(3ULL * srtt_us, 1000000);
}

LAW_INLINE u32 newcwv_pipe_ack(const struct newcwv_state *s, u64 now_us, u32 srtt_us)
{
	u64 period = newcwv_period_us(srtt_us);
	u32 largest = 0;

	for (u32 i = 0; i < NEWCWV_BUCKETS; i++)
		if (now_us - s->bucket_us[i] < period)
			largest = law_max(largest, s->bucket[i]);
	return largest;
}

/* Section 4.3. */
LAW_INLINE bool newcwv_is_validated(const struct newcwv_state *s, u64 now_us, u32 srtt_us, u32 cwnd)
{
	return !s->is_defined || 2ULL * newcwv_pipe_ack(s, now_us, srtt_us) >= cwnd;
}

/* pipeACK is undefined until the first sample after a recovery (section 4.2). */
LAW_INLINE void newcwv_reset(struct newcwv_state *s)
{
	__builtin_memset(s->bucket, 0, sizeof(s->bucket));
	__builtin_memset(s->bucket_us, 0, sizeof(s->bucket_us));
	s->is_defined = false;
	s->is_sampling = false;
}

LAW_INLINE void newcwv_store(struct newcwv_state *s, u64 now_us, u32 srtt_us)
{
	u32 i = s->newest < NEWCWV_BUCKETS ? s->newest : 0;

	if (!s->is_defined || now_us - s->bucket_us[i] >= newcwv_period_us(srtt_us) / NEWCWV_BUCKETS) {
		i = i + 1 < NEWCWV_BUCKETS ? i + 1 : 0;
		s->newest = i;
		s->bucket_us[i] = now_us;
		s->bucket[i] = 0;
	}
	s->bucket[i] = law_max(s->bucket[i], s->acked);
	s->is_defined = true;
}

/* SND.UNA advanced to `una` by `acked` packets, outside recovery. */
LAW_INLINE void newcwv_on_ack(struct newcwv_state *s, u64 now_us, u32 srtt_us, u32 acked, u32 una, u32 nxt)
{
	if (!s->is_sampling) {
		/* What this ACK says has arrived belongs to the flight that ends at `nxt`. */
		s->is_sampling = true;
		s->mark = nxt;
		s->acked = 0;
	}
	s->acked += acked;
	if ((s32)(una - s->mark) < 0)
		return;
	newcwv_store(s, now_us, srtt_us);
	s->mark = nxt;
	s->acked = 0;
}

/* Keep the time of the last validation; the end of the non-validated period (section 4.4.3). */
LAW_INLINE struct newcwv_windows newcwv_check(struct newcwv_state *s, u64 now_us, u32 srtt_us, u32 cwnd, u32 ssthresh)
{
	struct newcwv_windows none = {}, reduced;

	if (newcwv_is_validated(s, now_us, srtt_us, cwnd)) {
		s->validated_us = now_us;
		return none;
	}
	if (now_us - s->validated_us < NEWCWV_PERIOD_US)
		return none;
	s->validated_us = now_us; /* the period may start again */
	reduced.cwnd = law_max(cwnd / 2, law_min(s->initial_window, cwnd));
	reduced.ssthresh = law_max(ssthresh, (u64)cwnd * 3 / 4);
	return reduced;
}

/* A loss episode begins. The window for the recovery if the phase is non-validated (section 4.4.1), else 0. */
LAW_INLINE u32 newcwv_on_congestion(struct newcwv_state *s, u64 now_us, u32 srtt_us, u32 flight_size, u32 cwnd)
{
	u32 pipe_ack = newcwv_pipe_ack(s, now_us, srtt_us);
	bool was_validated = newcwv_is_validated(s, now_us, srtt_us, cwnd);

	newcwv_reset(s);
	s->loss_base = was_validated ? 0 : law_max(law_max(flight_size, pipe_ack), 1);
	return was_validated ? 0 : law_max(s->loss_base / 2, 1);
}

/* The recovery ended after `retransmitted` packets. The window that replaces the ordinary one, or 0. */
LAW_INLINE u32 newcwv_on_recovery_exit(struct newcwv_state *s, u64 now_us, u32 retransmitted)
{
	u32 base = s->loss_base;

	newcwv_reset(s);
	s->validated_us = now_us;
	s->loss_base = 0;
	if (!base)
		return 0;
	return law_max(base > retransmitted ? (base - retransmitted) / 2 : 0, 1);
}

/* The ordinary response holds. */
LAW_INLINE void newcwv_on_rto(struct newcwv_state *s)
{
	newcwv_reset(s);
	s->loss_base = 0;
}

#endif
