// Order of the search's results: pages for readers first, then the manual and the reference, last the appendix, decisions and changelog.
const LAST = /^(docs\/(appendix|decisions)\/|crates\/|bpf\/|CHANGELOG)/;
const FIRST = /^(README|docs\/[^/]+)$/;
var Scorer = {
  score: ([page, , , , score]) => score + (FIRST.test(page) ? 10 : LAST.test(page) ? -10 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
