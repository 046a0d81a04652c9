/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * What the controls share that own the window (cong_control): their socket's storage, its beginning and end, an acknowledgement as a
 * law takes it, and the first repair of a recovery. Retransmission itself (SACK, RACK, TLP) stays the kernel's.
 *
 * A control defines LAW(x) as its prefix, as for window.bpf.h, and includes its law and then this file.
 */
#ifndef PLAYPATH_OWNER_H
#define PLAYPATH_OWNER_H

#include "glue.bpf.h"

struct pp_meter {
	u32 next_round_delivered;
	u32 lost_seen;
	bool repair_due; /* nothing has been retransmitted in this recovery */
};

struct pp_control {
	struct LAW(state) law;
	struct pp_meter meter;
};

#include "storage.bpf.h"

SEC("struct_ops")
void BPF_PROG(pp_init, struct sock *sk)
{
	struct pp_control *s = pp_new_control(sk);

	if (!s)
		return;
	LAW(init)(&s->law, pp_tcp(sk)->snd_cwnd);
	s->meter.next_round_delivered = pp_tcp(sk)->delivered;
	s->meter.lost_seen = pp_tcp(sk)->lost;
	pp_tcp(sk)->snd_ssthresh = LAW_SSTHRESH_INFINITE;
#ifdef LAW_ON_START
	struct law_view view;

	pp_view_of(sk, &view);
	LAW_ON_START(s, &view);
	pp_set_rate(sk, s->law.pacing);
#endif
}

/* Compulsory. What Linux does with the answer is overwritten by set_state and cong_control. */
SEC("struct_ops")
u32 BPF_PROG(pp_ssthresh, struct sock *sk)
{
	return law_max(pp_tcp(sk)->packets_out / 2, 2);
}

LAW_INLINE void pp_ack_of(struct sock *sk, struct pp_meter *m, const struct rate_sample *rs, struct law_ack *ack)
{
	const struct tcp_sock *tp = pp_tcp(sk);
	u8 state = pp_ca_state(sk);

	ack->delivered = rs->acked_sacked;
	ack->acked = rs->acked_sacked;
	ack->newly_lost = tp->lost - m->lost_seen;
	m->lost_seen = tp->lost;
	ack->prior_in_flight = rs->prior_in_flight;
	ack->rtt_us = rs->rtt_us > 0 ? rs->rtt_us : 0;
	if (rs->delivered > 0 && rs->interval_us > 0) {
		ack->rate_delivered = rs->delivered;
		ack->rate_interval_us = rs->interval_us;
	}
	ack->rate_app_limited = rs->is_app_limited;
	ack->prior_delivered = rs->prior_delivered;
	ack->in_recovery = state == TCP_CA_Recovery || state == TCP_CA_CWR;
	ack->may_grow = pp_may_grow(tp);
	ack->round_start = false;
	if (rs->delivered > 0 && (s32)(rs->prior_delivered - m->next_round_delivered) >= 0) {
		m->next_round_delivered = tp->delivered;
		ack->round_start = true;
	}
}

/* RFC 5681, 3.2, step 3: the first repair leaves whatever the window. PRR sees to that elsewhere; here a law that answers a full
 * queue with a small window would wait for the timeout. */
LAW_INLINE u32 pp_window(struct sock *sk, struct pp_meter *m, u32 cwnd)
{
	const struct tcp_sock *tp = pp_tcp(sk);

	m->repair_due = m->repair_due && pp_ca_state(sk) == TCP_CA_Recovery && !tp->retrans_out;
	return m->repair_due ? law_max(cwnd, pp_in_flight(tp) + 1) : cwnd;
}

#endif
