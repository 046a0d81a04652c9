/* SPDX-License-Identifier: MIT
 *
 * Worked numbers of RFC 7661 on bpf/law_newcwv.h. Prints the failed line and ends with 1, or ends with 0.
 */
#include <stdio.h>

#include "../../../../bpf/law_newcwv.h"

#define CHECK(condition)                                                         \
	do {                                                                     \
		if (!(condition)) {                                              \
			printf("newcwv.c:%d: %s\n", __LINE__, #condition);       \
			return 1;                                                \
		}                                                                \
	} while (0)

enum { SECOND = 1000000, RTT = 100000 };

/* One round trip in which `packets` are acknowledged, ending at `now`. */
static void round_trip(struct newcwv_state *s, u64 now, u32 packets, u32 *sequence)
{
	u32 mark = s->mark;

	if (!s->is_sampling) {
		/* The first ACK belongs to its flight. */
		newcwv_on_ack(s, now - RTT, RTT, 1, *sequence, *sequence + 1000);
		mark = s->mark;
		packets -= 1;
	}
	newcwv_on_ack(s, now, RTT, packets, mark, mark + 1000);
	*sequence = mark;
}

int main(void)
{
	struct newcwv_state s;
	struct newcwv_windows w;
	u32 sequence = 0xffffff00U; /* wraps on the way */

	/* Period: max(3 RTT, 1 s): 1 s at 100 ms, 1.5 s at 500 ms. */
	CHECK(newcwv_period_us(100000) == 1000000);
	CHECK(newcwv_period_us(500000) == 1500000);

	/* Undefined at the start: validated, whatever the window. */
	newcwv_init(&s, 0, 10);
	CHECK(newcwv_is_validated(&s, SECOND, RTT, 1000));

	/* cwnd 60: valid iff pipeACK >= 30. */
	round_trip(&s, SECOND, 29, &sequence);
	CHECK(newcwv_pipe_ack(&s, SECOND, RTT) == 29);
	CHECK(!newcwv_is_validated(&s, SECOND, RTT, 60));
	round_trip(&s, SECOND + RTT, 30, &sequence);
	CHECK(newcwv_is_validated(&s, SECOND + RTT, RTT, 60));
	/* The sample leaves after the period; silent, pipeACK is 0 and not undefined: non-validated. */
	CHECK(newcwv_pipe_ack(&s, SECOND + RTT + SECOND, RTT) == 0);
	CHECK(!newcwv_is_validated(&s, 10 * SECOND, RTT, 60));

	/* cwnd 60, pipeACK 20, flight 24, R 2: 12 in recovery, then (24 - 2) / 2 = 11. */
	newcwv_init(&s, 0, 10);
	round_trip(&s, SECOND, 20, &sequence);
	CHECK(newcwv_on_congestion(&s, SECOND, RTT, 24, 60) == 12);
	CHECK(!s.is_defined);
	CHECK(newcwv_on_recovery_exit(&s, 2 * SECOND, 2) == 11);
	/* Validated: the ordinary response. */
	newcwv_init(&s, 0, 10);
	round_trip(&s, SECOND, 40, &sequence);
	CHECK(newcwv_on_congestion(&s, SECOND, RTT, 60, 60) == 0);
	CHECK(newcwv_on_recovery_exit(&s, 2 * SECOND, 2) == 0);
	/* More retransmitted than used: 1 packet. */
	newcwv_init(&s, 0, 10);
	round_trip(&s, SECOND, 1, &sequence);
	CHECK(newcwv_on_congestion(&s, SECOND, RTT, 2, 60) == 1);
	CHECK(newcwv_on_recovery_exit(&s, 2 * SECOND, 5) == 1);

	/* End of the non-validated period of 300 s: cwnd 60, ssthresh 30, IW 10: ssthresh 45, cwnd 30. */
	newcwv_init(&s, 0, 10);
	round_trip(&s, SECOND, 20, &sequence);
	w = newcwv_check(&s, 299ULL * SECOND, RTT, 60, 30);
	CHECK(w.cwnd == 0);
	w = newcwv_check(&s, 300ULL * SECOND, RTT, 60, 30);
	CHECK(w.cwnd == 30 && w.ssthresh == 45);
	/* The period starts again; never below the initial window. */
	w = newcwv_check(&s, 301ULL * SECOND, RTT, 30, 45);
	CHECK(w.cwnd == 0);
	w = newcwv_check(&s, 600ULL * SECOND, RTT, 15, 45);
	CHECK(w.cwnd == 10 && w.ssthresh == 45);

	/* A timeout: the ordinary response, pipeACK undefined. */
	round_trip(&s, 601ULL * SECOND, 1, &sequence);
	newcwv_on_rto(&s);
	CHECK(newcwv_is_validated(&s, 601ULL * SECOND, RTT, 60));
	return 0;
}
