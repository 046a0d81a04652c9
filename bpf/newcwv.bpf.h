/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Kernel half of newCWV over one of the kernel's own controls. A control defines BASE_INIT, BASE_CONG_AVOID, BASE_SSTHRESH,
 * BASE_SET_STATE, BASE_CWND_EVENT and BASE_PKTS_ACKED and includes this file.
 *
 * Needs net.ipv4.tcp_slow_start_after_idle = 0 in the sender's network namespace: with 1, Linux itself cuts the window of an
 * idle or rate-limited sender, which is what RFC 7661 replaces. RFC 7661 section 4.4.2 asks for limited bursts: parameter
 * `pacing` turns Linux's pacing on, at tcp_pacing_ss_ratio and tcp_pacing_ca_ratio percent of cwnd/srtt.
 */
#include "law_newcwv.h"
#include "glue.bpf.h"

struct pp_control {
	struct newcwv_state law;
	u32 base_ssthresh; /* what the base control answered last */
	u32 retrans_seen; /* total_retrans when the recovery began */
	u32 round_end;
	bool in_recovery;
};

#include "storage.bpf.h"

SEC("struct_ops")
void BPF_PROG(pp_init, struct sock *sk)
{
	struct pp_control *s = pp_new_control(sk);

	BASE_INIT(sk);
	if (s)
		newcwv_init(&s->law, pp_tcp(sk)->tcp_mstamp, pp_tcp(sk)->snd_cwnd);
}

LAW_INLINE void newcwv_enforce(struct sock *sk, struct pp_control *s)
{
	struct tcp_sock *tp = pp_tcp(sk);
	struct newcwv_windows w =
		newcwv_check(&s->law, tp->tcp_mstamp, tp->srtt_us >> 3, tp->snd_cwnd, tp->snd_ssthresh);

	if (!w.cwnd)
		return;
	pp_set_cwnd(sk, w.cwnd);
	tp->snd_ssthresh = w.ssthresh;
}

SEC("struct_ops")
void BPF_PROG(pp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct pp_control *s = pp_control_of(sk);
	const struct tcp_sock *tp = pp_tcp(sk);

	BASE_PKTS_ACKED(sk, sample);
	if (!s || pp_ca_state(sk) >= TCP_CA_CWR)
		return;
	newcwv_on_ack(&s->law, tp->tcp_mstamp, tp->srtt_us >> 3, sample->pkts_acked, tp->snd_una, tp->snd_nxt);
	newcwv_enforce(sk, s);
}

LAW_INLINE void newcwv_show(struct sock *sk, const struct pp_control *s, const struct pp_params *params)
{
	const struct tcp_sock *tp = pp_tcp(sk);
	u32 srtt = tp->srtt_us >> 3;
	s64 detail[PP_DETAILS] = {
		s->law.is_defined ? (s64)newcwv_pipe_ack(&s->law, tp->tcp_mstamp, srtt) : -1,
		newcwv_is_validated(&s->law, tp->tcp_mstamp, srtt, tp->snd_cwnd),
	};

	pp_publish(sk, s->in_recovery ? 2 : tp->snd_cwnd < tp->snd_ssthresh ? 0 : 1, detail, params);
}

SEC("struct_ops")
void BPF_PROG(pp_cong_avoid, struct sock *sk, u32 seq, u32 acked)
{
	struct pp_control *s = pp_control_of(sk);
	const struct pp_params *params = pp_params_of(sk);
	const struct tcp_sock *tp = pp_tcp(sk);

	if (!s || !params)
		return;
	if (params->value[NEWCWV_PACING])
		sk->sk_pacing_status = SK_PACING_NEEDED;
	/* Section 4.4.1: a non-validated window grows only while the sender uses all of it. */
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) ||
	    newcwv_is_validated(&s->law, tp->tcp_mstamp, tp->srtt_us >> 3, tp->snd_cwnd))
		BASE_CONG_AVOID(sk, seq, acked);
	/* As in window.bpf.h: the first ACK of something sent after the round began. */
	if ((s32)(tp->snd_una - s->round_end) > 0) {
		s->round_end = tp->snd_nxt;
		newcwv_show(sk, s, params);
	}
}

/* Asked before Linux says whether it is a recovery or a timeout; set_state puts it right for a timeout. */
SEC("struct_ops")
u32 BPF_PROG(pp_ssthresh, struct sock *sk)
{
	struct pp_control *s = pp_control_of(sk);
	const struct tcp_sock *tp = pp_tcp(sk);
	u32 base = BASE_SSTHRESH(sk), window;

	if (!s)
		return base;
	s->base_ssthresh = base;
	window = newcwv_on_congestion(&s->law, tp->tcp_mstamp, tp->srtt_us >> 3, tp->packets_out, tp->snd_cwnd);
	return window ? window : base;
}

SEC("struct_ops")
void BPF_PROG(pp_set_state, struct sock *sk, u8 new_state)
{
	struct pp_control *s = pp_control_of(sk);
	u8 old_state = pp_ca_state(sk);

	BASE_SET_STATE(sk, new_state);
	if (!s)
		return;
	if (new_state == TCP_CA_Loss) {
		if (old_state != TCP_CA_Loss && s->law.loss_base)
			pp_tcp(sk)->snd_ssthresh = s->base_ssthresh;
		newcwv_on_rto(&s->law);
		s->in_recovery = false;
	} else if ((new_state == TCP_CA_Recovery || new_state == TCP_CA_CWR) && old_state < TCP_CA_CWR) {
		s->in_recovery = true;
		s->retrans_seen = pp_tcp(sk)->total_retrans;
	}
}

SEC("struct_ops")
void BPF_PROG(pp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct pp_control *s = pp_control_of(sk);
	struct tcp_sock *tp = pp_tcp(sk);
	u32 window;

	BASE_CWND_EVENT(sk, event);
	if (!s)
		return;
	if (event == CA_EVENT_TX_START && pp_ca_state(sk) < TCP_CA_CWR)
		newcwv_enforce(sk, s);
	if (event != CA_EVENT_COMPLETE_CWR || !s->in_recovery)
		return;
	s->in_recovery = false;
	window = newcwv_on_recovery_exit(&s->law, tp->tcp_mstamp, tp->total_retrans - s->retrans_seen);
	if (!window)
		return;
	pp_set_cwnd(sk, window);
	tp->snd_ssthresh = window;
}

#include "avoid.bpf.h"
