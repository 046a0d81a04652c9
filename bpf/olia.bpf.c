/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 * OLIA: opportunistic linked increases, coupled across the subflows of an MPTCP connection. See law_coupled.h.
 */
#define COUPLED_IS_OLIA true
#include "coupled.bpf.h"

AVOID_OPS(olia);
