/* SPDX-License-Identifier: (MIT OR GPL-2.0-only)
 * CCPLCA: never below what the video rate needs. See law_ccp.h.
 */
#define CCP_VARIANT CCP_LCA
#include "ccp.bpf.h"

CCP_OPS(ccplca);
