/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Kernel half of the controls that own window and pacing rate (Slack, Copa, BBR v3): cong_control; a cut is the law's own, not
 * PRR's. Each defines LAW(x) and `LAW(show)`, includes its law and then this file, and registers with LEAD_OPS. A law that hears
 * of more defines LAW_BEFORE_ACK, LAW_ON_RECOVERY_EXIT or LAW_ON_WAKE.
 */
#include "owner.bpf.h"

#ifndef LAW_BEFORE_ACK
#define LAW_BEFORE_ACK(sk, rs, ack)
#endif
#ifndef LAW_ON_RECOVERY_EXIT
#define LAW_ON_RECOVERY_EXIT(law)
#endif
#ifndef LAW_ON_WAKE
#define LAW_ON_WAKE(law, param, view)
#endif
/* As Linux's BBR: two packets at once, below 1.2 Mbit/s one. */
#ifndef LAW_MIN_TSO_SEGS
#define LAW_MIN_TSO_SEGS(sk) ((sk)->sk_pacing_rate < 150000 ? 1 : 2)
#endif

LAW_INLINE void LAW(show)(struct sock *sk, const struct LAW(state) * law, const struct pp_params *params);

SEC("struct_ops")
void BPF_PROG(pp_cong_control, struct sock *sk, u32 seq, int flag, const struct rate_sample *rs)
{
	struct pp_control *s = pp_control_of(sk);
	const struct pp_params *params = pp_params_of(sk);
	struct law_ack ack = {};
	struct law_view view;

	if (!s || !params)
		return;
	pp_view_of(sk, &view);
	view.random = bpf_get_prandom_u32();
	pp_ack_of(sk, &s->meter, rs, &ack);
	LAW_BEFORE_ACK(sk, rs, &ack);
	LAW(on_ack)(&s->law, params->value, &view, &ack);
	pp_set_cwnd(sk, pp_window(sk, &s->meter, LAW(cwnd)(&s->law)));
	pp_tcp(sk)->snd_ssthresh = LAW(ssthresh)(&s->law);
	pp_set_rate(sk, s->law.pacing);
	if (ack.round_start)
		LAW(show)(sk, &s->law, params);
}

SEC("struct_ops")
void BPF_PROG(pp_set_state, struct sock *sk, u8 new_state)
{
	struct pp_control *s = pp_control_of(sk);
	const struct pp_params *params = pp_params_of(sk);
	u8 old_state = pp_ca_state(sk);
	struct law_view view;

	if (!s || !params)
		return;
	pp_view_of(sk, &view);
	if (new_state == TCP_CA_Loss) {
		LAW(on_rto)(&s->law, params->value, &view, old_state != TCP_CA_Loss);
		pp_tcp(sk)->snd_ssthresh = LAW(ssthresh)(&s->law);
	} else if ((new_state == TCP_CA_Recovery || new_state == TCP_CA_CWR) && old_state < TCP_CA_CWR) {
		LAW(on_congestion)(&s->law, params->value, &view, new_state == TCP_CA_CWR);
		s->meter.repair_due = true;
	} else if (new_state < TCP_CA_CWR) {
		LAW_ON_RECOVERY_EXIT(&s->law);
	}
}

SEC("struct_ops")
void BPF_PROG(pp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct pp_control *s = pp_control_of(sk);
	const struct pp_params *params = pp_params_of(sk);
	struct law_view view;

	if (!s || !params || event != CA_EVENT_TX_START)
		return;
	pp_view_of(sk, &view);
	view.random = bpf_get_prandom_u32();
	LAW_ON_WAKE(&s->law, params->value, &view);
}

/* The last reduction was spurious. Linux takes the answer for its window. */
SEC("struct_ops")
u32 BPF_PROG(pp_undo_cwnd, struct sock *sk)
{
	struct pp_control *s = pp_control_of(sk);
	struct law_view view;

	if (!s)
		return pp_tcp(sk)->snd_cwnd;
	pp_view_of(sk, &view);
	LAW(on_undo)(&s->law, &view);
	return LAW(cwnd)(&s->law);
}

SEC("struct_ops")
u32 BPF_PROG(pp_min_tso_segs, struct sock *sk)
{
	return LAW_MIN_TSO_SEGS(sk);
}

#define LEAD_OPS(control)                                                                                                     \
	PP_OPS(control, .cwnd_event = (void *)pp_cwnd_event, .cong_control = (void *)pp_cong_control,                         \
	       .min_tso_segs = (void *)pp_min_tso_segs)
