/** Guided tours of five steps: each step is a situation that can be played with, and what to look at in it. */

export interface Step {
  title: string;
  text: string;
  /** What differs from the tour's situation. */
  set?: Record<string, string | number | null>;
  senders?: string[];
  /** Another scenario than the tour's. */
  scenario?: string;
  /** Whose packets are looked at. */
  packets?: string;
  view?: [number, number];
  /** The id of the part of the page to look at. */
  look: "viewers" | "why" | "charts" | "packets" | "ranking" | "whatif";
  map?: { x: string; y: string | null; seconds: number | null };
}

export interface Lesson {
  id: string;
  title: string;
  scenario: string;
  senders: string[];
  steps: Step[];
}

export const LESSONS: Lesson[] = [
  {
    id: "wireless", title: "Why does the video stop? (start here)", scenario: "wireless", senders: ["cubic", "bbr"],
    steps: [
      { title: "Two viewers, one film", look: "viewers", text: "Both watch the same film over the same wireless link. The link is four times as fast as the film needs, but it loses 3 of 2000 packets. A red mark is a moment when the picture stands still. Only one thing differs between the two: the rule by which the server decides how much to send, its congestion control." },
      { title: "What happens before a stop", look: "why", text: "A sender may have only so many packets on their way at once: its window. Read what happened before the longest stop. CUBIC believes that a lost packet means a full network, and makes its window smaller. Here the network was not full: the radio lost the packet." },
      { title: "The window, and the buffer", look: "charts", view: [60, 120], text: "Look at one minute. Each mark on the window is a lost packet: CUBIC’s window falls to 70 %, and grows back too slowly. BBR measures how fast the path delivers, and keeps its window. The dashed line is the window that the film needs: while a sender is below it, the player’s buffer drains; when the buffer is empty, the picture stops." },
      { title: "Without loss", look: "viewers", set: { "path.0.loss": "0 %" }, text: "The same link, but the radio loses nothing. Now both play. Neither link nor film was the problem: CUBIC and the loss together were. Move the slider “Random loss” yourself." },
      { title: "Where does the answer turn?", look: "whatif", map: { x: "loss0", y: null, seconds: 120 }, text: "How much loss can CUBIC stand here? The map plays the film at many loss rates and says between which two the answer turns. With a longer round trip it turns earlier, since a window grows once a round trip: choose the round trip as the second axis." },
    ],
  },
  {
    id: "packets", title: "One lost packet, looked at closely", scenario: "wireless", senders: ["cubic", "bbr"],
    steps: [
      { title: "Each stroke is a packet", look: "packets", text: "To the right: when a packet left the server. Upwards: where it belongs in the film. The page shows the second around the cut of the window before CUBIC’s longest stop." },
      { title: "A packet is lost", look: "packets", text: "The cross is a packet that the radio lost. What was sent after it still arrives: the receiver says so (the green strokes, SACK), while the solid line, up to which all has arrived, stands still. After three such answers the server sends the missing packet again, and the line jumps." },
      { title: "The window after it", look: "packets", text: "From the solid to the dashed line is what the server may have on its way. CUBIC takes three tenths of it away: the strokes become fewer in each round trip. Press “Later” to see how slowly it grows back." },
      { title: "The same with BBR", look: "packets", packets: "bbr", text: "Now the packets of BBR. It loses packets, too, and sends them again, but the distance between the two lines stays: it does not take a lost packet for a full network." },
      { title: "When the queue is to blame", look: "packets", set: { "path.0.loss": "0 %", "path.0.queue": "20 ms" }, text: "Now the radio loses nothing, and the queue is short: an upright cross is a packet for which the queue had no room. Here a smaller window is the right answer, for the network really was full. Both kinds of loss look alike to CUBIC." },
    ],
  },
  {
    id: "bufferbloat", title: "A full queue beside a download", scenario: "bufferbloat", senders: ["cubic", "bbr"],
    steps: [
      { title: "A download begins", look: "viewers", text: "At home somebody starts a download half-way into the film. The link has a queue in which a second of data can wait." },
      { title: "Look at the queue", look: "charts", view: [10, 100], text: "The download fills the queue until packets are dropped. Everybody’s round trip grows from 30 ms to a second." },
      { title: "Who backs off loses", look: "why", text: "A sender that avoids a full queue gets little beside one that fills it. BBR limits what it has on its way, and stops for longer; CUBIC fills the queue as the download does." },
      { title: "The remedy is in the queue", look: "viewers", set: { "path.0.queue": "fq_codel" }, text: "Now the link gives every flow its own turn and keeps the queue short (FQ-CoDel). Both senders play." },
      { title: "How long may the queue be?", look: "whatif", map: { x: "queue0", y: null, seconds: 120 }, text: "With a shorter tail-drop queue the answer changes as well. The map tells where." },
    ],
  },
  {
    id: "mobile", title: "A cell whose rate changes", scenario: "mobile", senders: ["cubic", "bbr", "copa"],
    steps: [
      { title: "Fast enough on average", look: "viewers", text: "The cell carries 4.5 Mbit/s on average, and the film needs 3. Some seconds are much slower." },
      { title: "Follow the rate", look: "charts", view: [20, 80], text: "The shaded area behind the goodput is what the cell can carry. What a sender leaves unused cannot be fetched later." },
      { title: "A queue is a reserve", look: "charts", view: [20, 80], text: "CUBIC keeps hundreds of packets waiting in the queue: when the cell slows down they play on, at the price of a round trip of a second. BBR keeps the queue short and has only the player’s two seconds in reserve. Copa is in between." },
      { title: "A larger buffer", look: "viewers", set: { "player.buffer": "10 s" }, text: "With ten seconds in the player nobody needs the queue as a reserve." },
      { title: "Where does the answer turn?", look: "whatif", map: { x: "buffer", y: "video", seconds: 120 }, text: "The player’s buffer against the film’s rate: who is ahead where?" },
    ],
  },
  {
    id: "satellite", title: "A long way: satellite", scenario: "satellite", senders: ["newreno", "cubic", "bbr"],
    steps: [
      { title: "Six tenths of a second", look: "viewers", text: "A round trip over a geostationary satellite takes 600 ms. Losses are rare and come in bursts." },
      { title: "Growing once a round trip", look: "charts", text: "NewReno adds one packet to its window in each round trip: after a cut it needs minutes. CUBIC grows with the clock, not with round trips." },
      { title: "Rare events", look: "ranking", text: "In most seeds nothing happens, in some the burst comes at a bad moment: look at the single dots. An average alone would hide it." },
      { title: "A shorter way", look: "viewers", set: { "path.0.rtt": "40 ms" }, text: "The same losses at 40 ms harm nobody." },
      { title: "Where does the answer turn?", look: "whatif", map: { x: "rtt0", y: null, seconds: 120 }, text: "At which round trip does the sender begin to matter?" },
    ],
  },
  {
    id: "live", title: "A match, live: a second and a half behind", scenario: "live", senders: ["cubic", "bbr3", "copa"],
    steps: [
      { title: "Nothing can be fetched ahead", look: "viewers", text: "What is filmed now cannot be fetched before. A viewer who is a second and a half behind the stadium has at most that much in the player’s buffer. The link carries 20 Mbit/s and loses one packet in two hundred. The fuller the strip’s colour, the better the picture." },
      { title: "Chunks of half a second", look: "charts", view: [20, 40], text: "The server sends each half second of film as soon as it is encoded, and waits for the next. CUBIC has cut its window to a few packets by then, so that each chunk takes long to arrive." },
      { title: "Which picture, and how far behind", look: "ranking", text: "Stops are not all: each strip above says which picture its viewer had on average, and the table how far behind the match that was (live latency). A player that falls behind plays faster until it has caught up." },
      { title: "Ten seconds behind", look: "viewers", set: { "player.latency_target": "10 s" }, text: "A viewer who accepts to be ten seconds behind has more in reserve. That shortens CUBIC’s stops, but hardly betters its picture: the distance helps less than another control." },
      { title: "How much loss?", look: "whatif", map: { x: "loss0", y: null, seconds: 60 }, text: "At which loss rate does the control begin to matter for who watches live?" },
    ],
  },
  {
    id: "short-buffer", title: "A third of a second of buffer", scenario: "short-buffer", senders: ["cubic", "westwood", "vegas", "bbr"],
    steps: [
      { title: "Hardly any reserve", look: "viewers", text: "The player holds 300 ms of film, as for a game or a call. The path is three times as fast as the film needs, and loses one packet in a thousand." },
      { title: "A repair costs a round trip", look: "packets", text: "A lost packet is found missing and sent again after about a round trip of 50 ms: far less than the buffer. A single loss harms nobody." },
      { title: "Who lets it run dry?", look: "why", text: "Only a sender whose window stays too small for the film: Vegas takes packets that were acknowledged late for a queue, and backs off; Westwood now and then. The others have rate enough." },
      { title: "Twice the way", look: "viewers", set: { "path.0.rtt": "150 ms" }, text: "With a round trip of 150 ms a window holds a third of the rate, and a repair takes half the buffer. Now those who cut their window at each loss are in trouble." },
      { title: "How short may the buffer be?", look: "whatif", map: { x: "buffer", y: null, seconds: 60 }, text: "The map turns the player’s buffer: how many seconds are worth how much?" },
    ],
  },
  {
    id: "slack", title: "A sender that knows the viewer (Slack)", scenario: "bufferbloat", senders: ["cubic", "bbr", "slack"],
    steps: [
      { title: "The buffer is time", look: "viewers", text: "Slack is told how full the player’s buffer is. While it is full, nothing is urgent; as it runs low, the sender must hold its own against the download that comes half-way." },
      { title: "Before and after the download", look: "charts", view: [10, 100], text: "While the path is free Slack keeps the queue short. When the download fills it and the buffer begins to fall, Slack fills the queue as well, as CUBIC does, and never harder." },
      { title: "Who stops?", look: "why", text: "BBR limits what it has on its way whatever the viewer needs, and stops for longest. CUBIC stops less, and Slack hardly ever." },
      { title: "On the wireless path", look: "ranking", scenario: "wireless", text: "Where packets are lost by chance Slack does not take the loss for a full network as long as the round trip does not grow. Look at the stops, and at the retransmitted packets." },
      { title: "How much loss does it bear?", look: "whatif", scenario: "wireless", map: { x: "loss0", y: null, seconds: 60 }, text: "CUBIC, BBR and Slack over the loss rate of the radio: who is ahead where?" },
    ],
  },
  {
    id: "dumbbell", title: "Who takes how much? (no video)", scenario: "dumbbell", senders: [],
    steps: [
      { title: "Twenty downloads", look: "viewers", text: "Ten downloads under NewReno and ten under CUBIC share a link of 100 Mbit/s. Nobody watches; the table has what each flow got." },
      { title: "The saws", look: "charts", view: [10, 40], text: "The queue fills until packets are dropped, several flows cut their windows, and it empties again. The windows of the first flows are shown." },
      { title: "Packets that found no room", look: "packets", text: "An upright cross is a packet that the full queue dropped. Choose another flow above the diagram: often several lose at the same moment." },
      { title: "A longer way", look: "viewers", set: { "path.0.rtt": "200 ms" }, text: "NewReno’s window grows once a round trip, CUBIC’s with the clock: with a round trip of 200 ms CUBIC’s advantage becomes larger." },
      { title: "A managed queue", look: "charts", set: { "path.0.queue": "fq_codel" }, text: "FQ-CoDel gives each flow its own turn: all get the same, whatever their control, and the queue stays short." },
    ],
  },
  {
    id: "ccp", title: "Paper: a window for the viewer (CCP)", scenario: "wireless", senders: ["cubic", "compound", "ccp", "ccplb"],
    steps: [
      { title: "The idea", look: "viewers", text: "The CCP family computes its window from what the video and the path need, instead of cutting it at each loss." },
      { title: "What it does at a loss", look: "charts", view: [60, 90], text: "CUBIC and Compound cut their windows at each mark; CCP keeps its own." },
      { title: "What the network pays", look: "ranking", text: "Nobody of the CCP family stops. Now look at the retransmitted packets, dot by dot: in some seeds a window that ignores loss overflows the queue again and again, and a hundred times as much is sent twice." },
      { title: "Without loss", look: "ranking", set: { "path.0.loss": "0 %", "path.0.queue": "400 ms" }, text: "Without random loss, and with room in the queue, all four play, and none is dearer than the others: there is nothing to ignore. Add a download with “Other traffic” to see how CCP shares." },
      { title: "Where it pays", look: "whatif", map: { x: "loss0", y: "rtt0", seconds: 60 }, text: "Loss against round trip: where is which of them ahead?" },
    ],
  },
  {
    id: "newcwv", title: "Paper: pauses between segments (newCWV)", scenario: "adaptive", senders: ["rfc2861", "newcwv", "newcwv paced"],
    steps: [
      { title: "Fetch, pause, fetch", look: "viewers", text: "Adaptive streaming fetches a segment of two seconds, then waits. The fuller the strip’s colour, the better the picture." },
      { title: "Forgetting the window", look: "charts", view: [60, 100], text: "After a minute the player has enough, and pauses. After a pause, the sender of RFC 2861 starts again with a small window. Look for the marks “idle: window reset”." },
      { title: "Keeping it sends a burst", look: "charts", view: [60, 100], text: "newCWV (RFC 7661) keeps the window. After the pause it leaves as one burst, and the queue of 30 packets overflows." },
      { title: "Keep it, and pace", look: "ranking", text: "With pacing the same window arrives evenly: hardly anything is lost, and the player chooses a better picture." },
      { title: "A longer queue", look: "whatif", map: { x: "queue0", y: null, seconds: 120 }, text: "How long must the queue be for the burst to do no harm?" },
    ],
  },
  {
    id: "vegas", title: "Paper: a streaming server (Vegas)", scenario: "streaming-server", senders: ["newreno", "vegas", "westwood"],
    steps: [
      { title: "A server in a hurry", look: "viewers", text: "The server sends up to eight times the film’s rate, beside file transfers and web pages. The queue drops early (RED)." },
      { title: "Nobody is late", look: "ranking", text: "No packet misses its playout time under any of the three. For the viewer they are alike." },
      { title: "The price differs", look: "ranking", text: "Vegas retransmits a fraction of what the others do: it backs off when the round trip grows, before RED has to drop." },
      { title: "Look at the windows", look: "charts", view: [5, 35], text: "Vegas’ window is flatter than the saws of the other two." },
      { title: "Less haste", look: "whatif", map: { x: "xfactor", y: null, seconds: 60 }, text: "Does it matter how much faster than the film the server sends?" },
    ],
  },
  {
    id: "three-paths", title: "Three paths, hardly enough", scenario: "sticky-baseline", senders: ["cubic/dft", "cubic/gr-sty", "lia/dft"],
    steps: [
      { title: "Three times two", look: "viewers", text: "The film needs 5.24 Mbit/s, and no path has more than 2. MPTCP puts one connection on all three; a scheduler gives each packet to a path. A little loss on the two WiFi paths." },
      { title: "Every path must be full", look: "charts", view: [60, 120], text: "Choose a path above the charts. Whichever stays below its two Mbit/s is missed at once: 6 Mbit/s in all leave little to spare." },
      { title: "Coupled or not", look: "ranking", text: "LIA couples the windows of the paths, so that MPTCP takes no more than one connection would where they share a bottleneck. Here they do not share, and the restraint costs the viewer." },
      { title: "A smaller film", look: "viewers", set: { "video.rate": "4 Mbit/s" }, text: "A film of 4 Mbit/s leaves a path’s worth to spare: now every combination has what it needs." },
      { title: "How much film?", look: "whatif", map: { x: "video", y: null, seconds: 60 }, text: "Up to which rate of the film do three paths carry it, and under whom?" },
    ],
  },
  {
    id: "long-paths", title: "Three long paths, one lossy", scenario: "sticky-3p-150", senders: ["cubic/dft", "olia/dft", "compound/dft"],
    steps: [
      { title: "The shortest path is the worst", look: "viewers", text: "Three paths of 150 and 200 ms. The shortest one loses 2 % of its packets, so a window on it stays at a few packets." },
      { title: "What a lossy path carries", look: "charts", view: [60, 120], text: "Goodput of the first path: far from its 2 Mbit/s. The same loss on a path three times as long costs three times as much." },
      { title: "Packets of the lossy path", look: "packets", text: "Every fiftieth packet is a cross. Each time the window is cut before it has grown back." },
      { title: "Shorter paths", look: "viewers", set: { "path.0.rtt": "20 ms" }, text: "With 20 ms instead of 150 the lossy path recovers seven times as fast: CUBIC and Compound play now. OLIA, which couples the windows of the paths, still does not." },
      { title: "Where does it turn?", look: "whatif", map: { x: "loss0", y: null, seconds: 60 }, text: "Up to which loss on the short path is the picture saved?" },
    ],
  },
  {
    id: "sticky", title: "Paper: three paths at once (sticky)", scenario: "sticky-3p-50", senders: ["cubic/dft", "cubic/tp-sty", "cubic/tr-sty"],
    steps: [
      { title: "Three paths of 2 Mbit/s", look: "viewers", text: "The film needs 5.24 Mbit/s, and each path has 2: all three are needed. The shortest path loses 2 % of its packets." },
      { title: "Three schedulers, one picture", look: "viewers", text: "A scheduler gives every packet to a path. The default takes the shortest round trip that has room; the sticky ones stay on a path for longer. Here all three show the same: the paths together carry less than the film needs, so that each must use whatever room there is." },
      { title: "Look at the short path", look: "charts", view: [60, 120], text: "The charts show the path with the loss. Its window is cut again and again, and stays too small for its two Mbit/s; choose another path above the charts, and compare." },
      { title: "Without the loss", look: "viewers", set: { "path.0.loss": "0.05 %" }, text: "With the short path healthy again nobody stops, and the schedulers have something to choose from: look at their retransmissions." },
      { title: "Where does the answer turn?", look: "whatif", map: { x: "loss0", y: null, seconds: 60 }, text: "Loss of the short path: from where on does the scheduler matter?" },
    ],
  },
];

/** Senders to begin with; all others are a tick away. */
export function featured(scenario: string, senders: string[]): string[] {
  const known = LESSONS.find((lesson) => lesson.scenario === scenario)?.senders.filter((sender) => senders.includes(sender)) ?? [];
  if (known.length >= 2) return known;
  const common = ["cubic", "bbr"].filter((sender) => senders.includes(sender));
  return common.length === 2 ? common : senders.slice(0, 3);
}
