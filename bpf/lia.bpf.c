/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 * LIA: RFC 6356 linked increases, coupled across the subflows of an MPTCP connection. See law_coupled.h.
 */
#define COUPLED_IS_OLIA false
#include "coupled.bpf.h"

AVOID_OPS(lia);
