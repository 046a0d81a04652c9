/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 * CCP: the plain law. See law_ccp.h.
 */
#define CCP_VARIANT CCP_PLAIN
#include "ccp.bpf.h"

CCP_OPS(ccp);
