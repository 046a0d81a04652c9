/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 *
 * Kernel half of LIA and OLIA: window.bpf.h plus the group; a control sets COUPLED_IS_OLIA and includes this.
 *
 * Members find each other by the MPTCP token of their connection. A group is one map value with a slot per member. A member
 * writes its own slot only and reads the others without a lock: what it reads can be one ACK old, as any sum over sockets is. A
 * ninth member finds no slot and behaves as Reno.
 */
#define LAW(x) coupled_##x
#define LAW_ON_ACK(sk, law, param, view, ack) coupled_in_group(sk, law, view, ack)
#define LAW_ON_CHANGE(sk, law, view) coupled_in_group(sk, law, view, 0)
#define LAW_ON_RELEASE(sk) coupled_leave(sk)
#include "law_coupled.h"
#include "glue.bpf.h"

PP_MAP(pp_groups, BPF_MAP_TYPE_LRU_HASH, 4096, u64, struct law_group);

/* Too large for the stack; never written. */
static struct law_group coupled_empty;

static int coupled_in_group(struct sock *sk, struct coupled_state *s, const struct law_view *view, const struct law_ack *ack);
static void coupled_leave(struct sock *sk);

#include "window.bpf.h"

/* 0: the connection is alone. */
LAW_INLINE u64 coupled_key(struct sock *sk)
{
	u32 id;

	return pp_mptcp_token(sk, &id);
}

/* Tells the members of a group apart. */
LAW_INLINE u32 coupled_owner(struct sock *sk)
{
	const struct sock_common *c = &sk->__sk_common;
	u32 owner = (u32)c->skc_dport << 16 ^ c->skc_num ^ c->skc_daddr * 0x9e3779b1U;

	return owner ? owner : 1;
}

/* The member's slot, its own or a free one; LAW_MEMBERS if there is none. */
LAW_INLINE u32 coupled_slot(const struct law_group *group, u32 owner)
{
	u32 slot = LAW_MEMBERS;

	for (u32 i = 0; i < LAW_MEMBERS; i++) {
		if (group->member[i].owner == owner)
			return i;
		if (!group->member[i].owner && slot == LAW_MEMBERS)
			slot = i;
	}
	return slot;
}

/* Tell the group of a change and, on an ACK, grow by what the group allows. Returns 0: without a value the compiler may leave a
 * pointer to the stack in its place, which the verifier refuses; `used`, or it takes the value away. */
static __attribute__((noinline, used)) int coupled_in_group(struct sock *sk, struct coupled_state *s, const struct law_view *view,
						      const struct law_ack *ack)
{
	u64 key = coupled_key(sk);
	struct law_group *group;
	u32 slot;

	s->acked_bytes = pp_tcp(sk)->bytes_acked;
	group = bpf_map_lookup_elem(&pp_groups, &key);
	if (key && !group) {
		bpf_map_update_elem(&pp_groups, &key, &coupled_empty, BPF_NOEXIST);
		group = bpf_map_lookup_elem(&pp_groups, &key);
	}
	slot = key && group ? coupled_slot(group, coupled_owner(sk)) : LAW_MEMBERS;
	if (slot >= LAW_MEMBERS || !group) {
		if (ack)
			coupled_on_ack(s, ack, &coupled_empty, 0, COUPLED_IS_OLIA);
		return 0;
	}
	group->member[slot].owner = coupled_owner(sk);
	coupled_publish(s, view->srtt_us, &group->member[slot]);
	if (!ack)
		return 0;
	coupled_on_ack(s, ack, group, slot, COUPLED_IS_OLIA);
	coupled_publish(s, view->srtt_us, &group->member[slot]);
	return 0;
}

static void coupled_leave(struct sock *sk)
{
	u64 key = coupled_key(sk);
	struct law_group *group = bpf_map_lookup_elem(&pp_groups, &key);
	u32 slot;

	if (!group)
		return;
	slot = coupled_slot(group, coupled_owner(sk));
	if (slot >= LAW_MEMBERS || group->member[slot].owner != coupled_owner(sk))
		return;
	group->member[slot].srtt_us = 0;
	group->member[slot].owner = 0;
}

static void coupled_show(struct sock *sk, const struct coupled_state *law, s64 *detail)
{
	detail[0] = coupled_key(sk);
	detail[1] = law->members;
	detail[2] = law->alpha_q32;
}
