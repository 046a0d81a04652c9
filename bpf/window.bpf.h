/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Kernel half of the window controls (cong_avoid): Linux leads the window through recovery (PRR) and sets the pacing rate, the
 * law says how it grows and where it falls to.
 *
 * A control defines LAW(x) as its prefix (`#define LAW(x) vegas_##x`), includes its law, this file, and defines
 * `LAW(show)`. A law that needs more than its own socket defines LAW_ON_ACK and its
 * neighbours too. The law owns its window; when Linux changes snd_cwnd by itself (undo, restart after idle), the law adopts it.
 */
#include "glue.bpf.h"

#ifndef LAW_ON_ACK
#define LAW_ON_ACK(sk, law, param, view, ack) LAW(on_ack)(law, param, view, ack)
#define LAW_ON_CHANGE(sk, law, view)
#endif

struct pp_control {
	struct LAW(state) law;
	u32 round_end; /* sequence number that ends the round */
	u32 rtt_us; /* of the ACK being processed */
	bool in_recovery;
};

#include "storage.bpf.h"

static void LAW(show)(struct sock *sk, const struct LAW(state) * law, s64 *detail);

SEC("struct_ops")
void BPF_PROG(pp_init, struct sock *sk)
{
	struct pp_control *s = pp_new_control(sk);

	if (!s)
		return;
	LAW(init)(&s->law, pp_tcp(sk)->snd_cwnd);
	s->round_end = pp_tcp(sk)->snd_nxt;
}

SEC("struct_ops")
void BPF_PROG(pp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct pp_control *s = pp_control_of(sk);

	if (!s)
		return;
	/* In recovery cong_avoid is not called: the sample before this one is still here. */
	LAW(on_rtt)(&s->law, s->rtt_us);
	s->rtt_us = sample->rtt_us > 0 ? sample->rtt_us : 0;
}

/* A frame of its own: with those of a law that calls two functions (OLIA) its details would exceed BPF's 512 bytes of stack. */
static __attribute__((noinline)) void window_publish(struct sock *sk, const struct pp_control *s,
						      const struct pp_params *params)
{
	s64 detail[PP_DETAILS] = {};
	bool slow_start = pp_tcp(sk)->snd_cwnd < pp_tcp(sk)->snd_ssthresh;

	LAW(show)(sk, &s->law, detail);
	pp_publish(sk, s->in_recovery ? 2 : slow_start ? 0 : 1, detail, params);
}

SEC("struct_ops")
void BPF_PROG(pp_cong_avoid, struct sock *sk, u32 seq, u32 acked)
{
	struct pp_control *s = pp_control_of(sk);
	const struct pp_params *params = pp_params_of(sk);
	struct tcp_sock *tp = pp_tcp(sk);
	struct law_ack ack = {};
	struct law_view view;

	if (!s || !params)
		return;
	pp_view_of(sk, &view);
	if (tp->snd_cwnd != LAW(cwnd)(&s->law) || tp->snd_ssthresh != s->law.ssthresh)
		LAW(adopt)(&s->law, tp->snd_cwnd, tp->snd_ssthresh);
	ack.acked = acked;
	ack.delivered = acked;
	ack.rtt_us = s->rtt_us;
	s->rtt_us = 0;
	ack.may_grow = pp_may_grow(tp);
	/* As in the simulator, BBR and Linux's Vegas: the first ACK of something sent after the round began. */
	if ((s32)(tp->snd_una - s->round_end) > 0) {
		s->round_end = tp->snd_nxt;
		ack.round_start = true;
	}
	LAW_ON_ACK(sk, &s->law, params->value, &view, &ack);
	pp_set_cwnd(sk, LAW(cwnd)(&s->law));
	tp->snd_ssthresh = s->law.ssthresh;
	if (ack.round_start)
		window_publish(sk, s, params);
}

/* Only asked here; the law learns of the episode in set_state, when it is known whether it is a recovery or a timeout. */
SEC("struct_ops")
u32 BPF_PROG(pp_ssthresh, struct sock *sk)
{
	struct pp_control *s = pp_control_of(sk);
	struct LAW(state) copy;

	if (!s)
		return 2;
	copy = s->law;
	return LAW(on_congestion)(&copy);
}

SEC("struct_ops")
void BPF_PROG(pp_set_state, struct sock *sk, u8 new_state)
{
	struct pp_control *s = pp_control_of(sk);
	u8 old_state = pp_ca_state(sk);
	struct law_view view;

	if (!s)
		return;
	pp_view_of(sk, &view);
	if (new_state == TCP_CA_Loss) {
		LAW(on_rto)(&s->law, old_state != TCP_CA_Loss);
		pp_tcp(sk)->snd_ssthresh = s->law.ssthresh;
		pp_set_cwnd(sk, LAW(cwnd)(&s->law));
		s->in_recovery = false;
	} else if ((new_state == TCP_CA_Recovery || new_state == TCP_CA_CWR) && old_state < TCP_CA_CWR) {
		s->in_recovery = true;
		LAW(on_congestion)(&s->law);
	} else {
		return;
	}
	LAW_ON_CHANGE(sk, &s->law, &view);
}

/* COMPLETE_CWR comes after Linux has set the window to ssthresh at the end of a recovery. */
SEC("struct_ops")
void BPF_PROG(pp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct pp_control *s = pp_control_of(sk);
	struct tcp_sock *tp = pp_tcp(sk);

	if (!s || event != CA_EVENT_COMPLETE_CWR || !s->in_recovery)
		return;
	s->in_recovery = false;
	LAW(on_recovery_exit)(&s->law);
	pp_set_cwnd(sk, LAW(cwnd)(&s->law));
	tp->snd_ssthresh = s->law.ssthresh;
}

#include "avoid.bpf.h"
