/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Slack. See law_slack.h. It owns window and pacing (cong_control): its cut is its own, not PRR's, and most losses change nothing.
 * The player's reports are words of the parameter block, written by the CMCD bridge.
 */
#define LAW(x) slack_##x
#include "law_slack.h"
#include "owner.bpf.h"

LAW_INLINE void slack_show(struct sock *sk, const struct slack_state *law, const struct pp_params *params)
{
	const struct slack_playout *playout = &law->playout;
	s64 detail[PP_DETAILS] = {
		law->rate.best.value * 1000000 >> 32,
		law->rtt_q16 >> 16,
		law->queueing_q16 >> 16,
		playout->level_ns / 1000000,
		playout->size_ns / 1000000,
		playout->is_told && playout->is_playing,
		law->ease_q20 * 1000 >> 20,
		law->has_ignored,
	};

	pp_publish(sk, slack_phase(law), detail, params);
}

LAW_INLINE void slack_apply(struct sock *sk, struct owner_socket *s)
{
	pp_set_cwnd(sk, pp_window(sk, &s->meter, s->law.cubic.cwnd >> 32));
	pp_tcp(sk)->snd_ssthresh = slack_ssthresh(&s->law);
	if (!s->law.pacing)
		return;
	sk->sk_pacing_rate = s->law.pacing;
	if (!sk->sk_pacing_status)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

SEC("struct_ops")
void BPF_PROG(pp_cong_control, struct sock *sk, u32 seq, int flag, const struct rate_sample *rs)
{
	struct owner_socket *s = owner_of(sk);
	const struct pp_params *params = pp_params_of(sk);
	struct law_ack ack = {};
	struct law_view view;

	if (!s || !params)
		return;
	pp_view_of(sk, &view);
	pp_ack_of(sk, &s->meter, rs, &ack);
	slack_on_ack(&s->law, params->value, &view, &ack);
	slack_apply(sk, s);
	if (ack.round_start)
		slack_show(sk, &s->law, params);
}

SEC("struct_ops")
void BPF_PROG(pp_set_state, struct sock *sk, u8 new_state)
{
	struct owner_socket *s = owner_of(sk);
	const struct pp_params *params = pp_params_of(sk);
	u8 old_state = pp_ca_state(sk);
	struct law_view view;

	if (!s || !params)
		return;
	pp_view_of(sk, &view);
	if (new_state == TCP_CA_Loss) {
		slack_on_rto(&s->law, &view, old_state != TCP_CA_Loss);
		pp_tcp(sk)->snd_ssthresh = slack_ssthresh(&s->law);
	} else if ((new_state == TCP_CA_Recovery || new_state == TCP_CA_CWR) && old_state < TCP_CA_CWR) {
		slack_on_congestion(&s->law, params->value, &view, new_state == TCP_CA_CWR);
		s->meter.repair_due = true;
	}
}

/* A response begins: what its request told counts from here on. */
SEC("struct_ops")
void BPF_PROG(pp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct owner_socket *s = owner_of(sk);
	const struct pp_params *params = pp_params_of(sk);
	struct law_view view;

	if (!s || !params || event != CA_EVENT_TX_START)
		return;
	pp_view_of(sk, &view);
	slack_on_wake(&s->law, params->value, &view);
}

/* The last reduction was spurious. Linux takes the answer for its window. */
SEC("struct_ops")
u32 BPF_PROG(pp_undo_cwnd, struct sock *sk)
{
	struct owner_socket *s = owner_of(sk);

	if (!s)
		return pp_tcp(sk)->snd_cwnd;
	slack_on_undo(&s->law);
	return s->law.cubic.cwnd >> 32;
}

/* A queue of a few packets does not hold two more at once. */
SEC("struct_ops")
u32 BPF_PROG(pp_min_tso_segs, struct sock *sk)
{
	return 1;
}

PP_OPS(slack, .cwnd_event = (void *)pp_cwnd_event, .cong_control = (void *)pp_cong_control,
       .min_tso_segs = (void *)pp_min_tso_segs);
