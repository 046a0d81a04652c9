/* SPDX-License-Identifier: MIT
 *
 * Runs a control law of bpf/ on events from standard input, a line each; answers each with "cwnd_q16 ssthresh".
 * See src/lib.rs for the other side. First line: control, initial window.
 *
 *   p v0 .. v15                                                  parameters
 *   v now_us mss srtt_us in_flight flight_size sent              view, for what follows
 *   s i srtt_us cwnd_q10 l_bytes                                 member i of the group (coupled laws); member 0 is the own one
 *   a acked delivered lost rtt_us rate_n rate_us limited grow round recovery    acknowledgement
 *   c                                                            congestion episode begins
 *   e retransmitted                                              recovery ends
 *   t flight_size is_first                                       retransmission timeout
 */
#include <stdio.h>
#include <string.h>

#include "../../bpf/law_ccp.h"
#include "../../bpf/law_compound.h"
#include "../../bpf/law_coupled.h"
#include "../../bpf/law_vegas.h"

static union {
	struct ccp_state ccp;
	struct vegas_state vegas;
	struct compound_state compound;
	struct coupled_state coupled;
} law;
static struct law_group group;
static struct law_view view;
static u32 param[LAW_PARAM_SLOTS];
static char control[16];

static int is(const char *name)
{
	return strcmp(control, name) == 0;
}

static int ccp_variant_of(void)
{
	return is("ccp") ? CCP_PLAIN : is("ccpd") ? CCP_DERIVATIVE : is("ccplca") ? CCP_LCA : is("ccplb") ? CCP_LB : -1;
}

static int is_coupled(void)
{
	return is("lia") || is("olia");
}

static void init(u32 window)
{
	if (ccp_variant_of() >= 0)
		ccp_init(&law.ccp, window);
	else if (is("vegas"))
		vegas_init(&law.vegas, window);
	else if (is("compound"))
		compound_init(&law.compound, window);
	else
		coupled_init(&law.coupled, window);
}

static void on_ack(const struct law_ack *ack)
{
	if (ccp_variant_of() >= 0) {
		ccp_on_ack(&law.ccp, param, &view, ack, ccp_variant_of());
	} else if (is("vegas")) {
		vegas_on_ack(&law.vegas, param, &view, ack);
	} else if (is("compound")) {
		compound_on_ack(&law.compound, param, &view, ack);
	} else {
		u64 l = group.member[0].l_bytes;

		coupled_tell(&law.coupled, group.member[0].srtt_us, &group.member[0]);
		group.member[0].l_bytes = l; /* as the test has it for the Rust side */
		coupled_on_ack(&law.coupled, &view, ack, &group, 0, is("olia"));
	}
}

static void on_congestion(void)
{
	if (ccp_variant_of() >= 0)
		ccp_on_congestion(&law.ccp);
	else if (is("vegas"))
		vegas_on_congestion(&law.vegas, param, &view);
	else if (is("compound"))
		compound_on_congestion(&law.compound, param, &view);
	else
		coupled_on_congestion(&law.coupled, param, &view);
}

static void on_recovery_exit(u32 retransmitted)
{
	if (ccp_variant_of() >= 0)
		ccp_on_recovery_exit(&law.ccp);
	else if (is("vegas"))
		vegas_on_recovery_exit(&law.vegas, retransmitted);
	else if (is("compound"))
		compound_on_recovery_exit(&law.compound, retransmitted);
	else
		coupled_on_recovery_exit(&law.coupled, retransmitted);
}

static void on_rto(u32 flight_size, bool is_first)
{
	if (ccp_variant_of() >= 0)
		ccp_on_rto(&law.ccp, flight_size, is_first);
	else if (is("vegas"))
		vegas_on_rto(&law.vegas, param, &view, is_first);
	else if (is("compound"))
		compound_on_rto(&law.compound, param, &view, is_first);
	else
		coupled_on_rto(&law.coupled, param, &view, is_first);
}

static void answer(void)
{
	u64 cwnd = ccp_variant_of() >= 0 ? law.ccp.cwnd_q16 :
		   is("vegas")		 ? law.vegas.cwnd_q16 :
		   is("compound")	 ? compound_win_q16(&law.compound) :
					   law.coupled.cwnd_q32 >> 16;
	u32 ssthresh = ccp_variant_of() >= 0 ? law.ccp.ssthresh :
		       is("vegas")	     ? law.vegas.ssthresh :
		       is("compound")	     ? law.compound.ssthresh :
					       law.coupled.ssthresh;

	printf("%llu %u\n", (unsigned long long)cwnd, ssthresh);
}

static int take(char kind)
{
	unsigned long long now;
	unsigned x[16], i;

	switch (kind) {
	case 'p':
		for (i = 0; i < LAW_PARAM_SLOTS; i++)
			if (scanf("%u", &param[i]) != 1)
				return 0;
		return 1;
	case 'v':
		if (scanf("%llu %u %u %u %u %u", &now, &x[0], &x[1], &x[2], &x[3], &x[4]) != 6)
			return 0;
		view = (struct law_view){ .now_us = now, .mss = x[0], .srtt_us = x[1], .in_flight = x[2],
					  .flight_size = x[3], .sent = x[4] };
		return 1;
	case 's':
		if (scanf("%u %u %u %llu", &i, &x[0], &x[1], &now) != 4 || i >= LAW_MEMBERS)
			return 0;
		group.member[i] = (struct law_member){ .srtt_us = x[0], .cwnd_q10 = x[1], .l_bytes = now };
		return 1;
	case 'a':
		for (i = 0; i < 10; i++)
			if (scanf("%u", &x[i]) != 1)
				return 0;
		on_ack(&(struct law_ack){ .acked = x[0], .delivered = x[1], .newly_lost = x[2], .rtt_us = x[3],
					  .rate_delivered = x[4], .rate_interval_us = x[5], .rate_app_limited = x[6],
					  .may_grow = x[7], .round_start = x[8], .in_recovery = x[9] });
		return 1;
	case 'c':
		on_congestion();
		return 1;
	case 'e':
		if (scanf("%u", &x[0]) != 1)
			return 0;
		on_recovery_exit(x[0]);
		return 1;
	case 't':
		if (scanf("%u %u", &x[0], &x[1]) != 2)
			return 0;
		on_rto(x[0], x[1]);
		return 1;
	default:
		return 0;
	}
}

int main(void)
{
	unsigned window;
	char kind;

	if (scanf("%15s %u", control, &window) != 2 || (ccp_variant_of() < 0 && !is("vegas") && !is("compound") && !is_coupled()))
		return 2;
	init(window);
	while (scanf(" %c", &kind) == 1) {
		if (!take(kind))
			return 2;
		if (strchr("acet", kind))
			answer();
	}
	return 0;
}
