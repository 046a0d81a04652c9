/** Which senders of a shipped scenario the page shows at first. */

const FEATURED: Record<string, string[]> = {
  wireless: ["cubic", "bbr"],
  bufferbloat: ["cubic", "bbr"],
  mobile: ["cubic", "bbr", "copa"],
  satellite: ["newreno", "cubic", "bbr"],
  live: ["cubic", "bbr3", "copa"],
  "short-buffer": ["cubic", "westwood", "vegas", "bbr"],
  adaptive: ["rfc2861", "newcwv", "newcwv paced"],
  "streaming-server": ["newreno", "vegas", "westwood"],
  "sticky-baseline": ["cubic/dft", "cubic/gr-sty", "lia/dft"],
  "sticky-3p-150": ["cubic/dft", "olia/dft", "compound/dft"],
  "sticky-3p-50": ["cubic/dft", "cubic/tp-sty", "cubic/tr-sty"],
};

/** Senders to begin with; all others are a tick away. */
export function featured(scenario: string, senders: string[]): string[] {
  const known = (FEATURED[scenario] ?? []).filter((sender) => senders.includes(sender));
  if (known.length >= 2) return known;
  const common = ["cubic", "bbr"].filter((sender) => senders.includes(sender));
  return common.length === 2 ? common : senders.slice(0, 3);
}
