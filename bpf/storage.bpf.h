/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * What a control keeps for each socket, defined as struct pp_control before this is included, and the end of a connection. A control
 * with something to do at that end defines LAW_ON_RELEASE.
 */
#ifndef LAW_ON_RELEASE
#define LAW_ON_RELEASE(sk)
#endif

PP_IN_SOCKET(pp_state, struct pp_control);

LAW_INLINE struct pp_control *pp_control_of(struct sock *sk)
{
	return bpf_sk_storage_get(&pp_state, sk, 0, 0);
}

LAW_INLINE struct pp_control *pp_new_control(struct sock *sk)
{
	pp_forget_peer(sk);
	return bpf_sk_storage_get(&pp_state, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
}

SEC("struct_ops")
void BPF_PROG(pp_release, struct sock *sk)
{
	LAW_ON_RELEASE(sk);
	pp_forget(sk);
}
