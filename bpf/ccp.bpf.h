/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Kernel half of the CCP family; each of ccp, ccpd, ccplca and ccplb sets CCP_VARIANT and includes this file.
 *
 * cong_control replaces the kernel's window growth, its proportional rate reduction and its pacing rule, as the law demands:
 * it does not react to loss. Retransmission itself (SACK, RACK, TLP) stays the kernel's.
 */
#define LAW(x) ccp_##x
#include "law_ccp.h"
#include "owner.bpf.h"

LAW_INLINE void ccp_show(struct sock *sk, const struct pp_control *s, const struct pp_params *params)
{
	const struct ccp_state *law = &s->law;
	s64 detail[PP_DETAILS] = {
		law->capacity_q32 * 1000000 >> 32, /* packets/s */
		law->rtt_min.best.value,
		law->rtt_max.best.value,
		law->b_q16 >> 16,
		law->x_q16 >> 16,
		law->pob_q16 >> 16,
		law->guard_q32 >> 16,
		law->round,
	};

	pp_publish(sk, law->in_slow_start ? 0 : 1, detail, params);
}

SEC("struct_ops")
void BPF_PROG(pp_cong_control, struct sock *sk, u32 seq, int flag, const struct rate_sample *rs)
{
	struct pp_control *s = pp_control_of(sk);
	const struct pp_params *params = pp_params_of(sk);
	struct law_view view;
	struct law_ack ack = {};
	bool slow_start;

	if (!s || !params)
		return;
	pp_view_of(sk, &view);
	pp_ack_of(sk, &s->meter, rs, &ack);
	ccp_on_ack(&s->law, params->value, &view, &ack, CCP_VARIANT);
	slow_start = s->law.in_slow_start;
	pp_set_cwnd(sk, pp_window(sk, &s->meter, s->law.cwnd_q16 >> 16));
	pp_tcp(sk)->snd_ssthresh = ccp_ssthresh(&s->law);
	pp_set_pacing(sk, LAW_PARAM(params->value, CCP_PACING_GAIN), slow_start);
	if (ack.round_start)
		ccp_show(sk, s, params);
}

SEC("struct_ops")
void BPF_PROG(pp_set_state, struct sock *sk, u8 new_state)
{
	struct pp_control *s = pp_control_of(sk);

	if (!s)
		return;
	if (new_state == TCP_CA_Loss) {
		ccp_on_rto(&s->law, pp_tcp(sk)->packets_out, pp_ca_state(sk) != TCP_CA_Loss);
		pp_tcp(sk)->snd_ssthresh = s->law.ssthresh;
	} else if (new_state == TCP_CA_Recovery || new_state == TCP_CA_CWR) {
		ccp_on_congestion(&s->law);
		s->meter.repair_due = true;
	} else if (new_state == TCP_CA_Open) {
		ccp_on_recovery_exit(&s->law);
	}
}

/* The law does not cut its window on loss, so there is nothing to undo. */
SEC("struct_ops")
u32 BPF_PROG(pp_undo_cwnd, struct sock *sk)
{
	return pp_tcp(sk)->snd_cwnd;
}

#define CCP_OPS(control) PP_OPS(control, .cong_control = (void *)pp_cong_control)
