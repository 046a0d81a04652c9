/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * The end of a kernel half that grows the window by cong_avoid and leaves recovery to Linux: how it takes a reduction back, and
 * how it is registered.
 */
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

SEC("struct_ops")
u32 BPF_PROG(pp_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

#define AVOID_OPS(control)                                                                                                    \
	PP_OPS(control, .pkts_acked = (void *)pp_pkts_acked, .cong_avoid = (void *)pp_cong_avoid,                             \
	       .cwnd_event = (void *)pp_cwnd_event)
