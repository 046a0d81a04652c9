/** Three lessons. A screen has one idea: a question that the reader answers first, and sessions that say who was right. */

import { carried, firstLoss, firstStop, least, longestTrip, regrown, repaired, stopped } from "./outcome";
import { clock, withUnit } from "./quantity";
import type { Settings } from "./state";
import { type Session, around, worst } from "./story";

/** One of the sessions that a screen shows beside each other. */
export interface Case {
  name: string;
  sender: string;
  set?: Settings;
}

export interface Screen {
  title: string;
  /** Paragraphs before the question. */
  text: string[];
  /** What differs from the lesson's situation. */
  set?: Settings;
  cases: Case[];
  ask: string;
  options: string[];
  /** Number of the option that the sessions bear out. */
  answer: (sessions: Session[]) => number;
  /** What happened, in figures. */
  outcome: (sessions: Session[]) => string;
  /** Why; it is said of the screen's own situation, not of what the reader makes of it. */
  why: string;
  /** Id of the knob that the reader can turn then. */
  knob: string;
  /** What the moving picture shows, and how many seconds of it pass in a second. */
  scene: { view: (sessions: Session[]) => [number, number]; pace: number };
  charts: string[];
}

export interface Lesson {
  id: string;
  title: string;
  scenario: string;
  set: Settings;
  files?: Record<string, string>;
  screens: Screen[];
}

const MSS = 1448;
const cubic: Case[] = [{ name: "cubic", sender: "cubic" }];
const three: Case[] = ["newreno", "cubic", "bbr"].map((sender) => ({ name: sender, sender }));
const seconds = (value: number) => withUnit(value, "s");
/** "A stops for 3 s, B for 5 s" */
const stops = (sessions: Session[]) => sessions.map((session) => `${session.sender}: ${stopped(session) ? `the picture stands still for ${seconds(stopped(session))}` : "the picture never stops"}`).join("; ");
const stopOr = (fallback: [number, number]) => (sessions: Session[]) => worst(sessions) ?? fallback;
/** Around the first packet that was lost. */
const aroundLoss = (sessions: Session[]): [number, number] => {
  const lost = Math.min(...sessions.map((session) => session.series["drops.video"]?.time_s[0] ?? 1));
  return [Math.max(0, lost - 0.1), lost + 0.5];
};

const film: Lesson = {
  id: "film", title: "Why a film stalls", scenario: "wireless", set: { "video.duration": "60 s" },
  screens: [
    {
      title: "A film is poured and drunk",
      text: ["A server pours a film into a network path; at the other end the player drinks it, 5.24 Mbit of it each second. What has arrived and was not yet shown waits in the player’s buffer: one second of film at most.", "This link carries 20 Mbit/s, four times what the film needs, and loses nothing."],
      set: { "path.0.loss": "0 %" }, cases: cubic,
      ask: "Does the picture stop?", options: ["Never", "Now and then", "Most of the time"],
      answer: ([one]) => (stopped(one) === 0 ? 0 : stopped(one) < 30 ? 1 : 2),
      outcome: (sessions) => `${stops(sessions)}.`,
      why: "What is poured in is more than what is drunk, and the buffer stays full.",
      knob: "rate0", scene: { view: () => [0.5, 8], pace: 0.25 }, charts: ["buffer"],
    },
    {
      title: "The radio loses a little",
      text: ["The same link, and the same film. But now the radio loses 0.15 % of the packets: 3 of 2000. The server sends each of them again."],
      cases: cubic,
      ask: "How much of its time does the viewer look at a picture that stands still?", options: ["None: so little loss is repaired", "Less than a tenth", "More than a tenth"],
      answer: ([one]) => (stopped(one) === 0 ? 0 : stopped(one) < 6 ? 1 : 2),
      outcome: ([one]) => `In a film of 60\u00a0s the picture stood still for ${seconds(stopped(one))}.`,
      why: "The lost packets themselves are a trifle. What the server concludes from them is not: look at its window below, and at the buffer.",
      knob: "loss0", scene: { view: stopOr([5, 15]), pace: 0.5 }, charts: ["window", "buffer"],
    },
    {
      title: "The window",
      text: ["A server may have only so many packets in flight at once: its window. A window’s worth arrives in each round trip, here in a tenth of a second. CUBIC, the rule of most servers, takes a loss for a full network, and makes its window smaller. Below the dashed line it carries less than the film needs.", "You may change one thing for this viewer."],
      cases: [{ name: "twice the rate", sender: "cubic", set: { "path.0.rate": "40 Mbit/s" } }, { name: "half the distance", sender: "cubic", set: { "path.0.rtt": "50 ms" } }, { name: "twice the buffer", sender: "cubic", set: { "player.buffer": "2 s" } }],
      ask: "What helps most?", options: ["A link of 40 Mbit/s instead of 20", "A server half as far away: 50 ms instead of 100", "A buffer of two seconds instead of one"],
      answer: (sessions) => least(sessions, stopped),
      outcome: (sessions) => `${stops(sessions)}.`,
      why: "Over half the distance the same window arrives twice as often, and it grows back sooner. A link that is not full gains nothing from being faster, and a larger buffer only delays the stall.",
      knob: "rtt0", scene: { view: stopOr([5, 15]), pace: 0.5 }, charts: ["window", "buffer"],
    },
    {
      title: "Another rule",
      text: ["Link and film are as they were, with 0.15 % of loss. A second server sends the same film by another rule, BBR. It does not ask whether packets are lost, but how fast they arrive."],
      cases: [{ name: "cubic", sender: "cubic" }, { name: "bbr", sender: "bbr" }],
      ask: "Whose viewer sees the picture stand still?", options: ["CUBIC’s alone", "BBR’s alone", "Both", "Neither"],
      answer: ([one, other]) => (stopped(one) > 0 ? (stopped(other) > 0 ? 2 : 0) : stopped(other) > 0 ? 1 : 3),
      outcome: (sessions) => `${stops(sessions)}.`,
      why: "Neither link nor film was the cause, but the rule by which the server judges the loss.",
      knob: "loss0", scene: { view: stopOr([5, 15]), pace: 0.5 }, charts: ["window", "buffer"],
    },
  ],
};

const DOWNLOAD = 10;
const after = (sessions: Session[]): [number, number] => {
  const first = sessions.map(firstStop).filter((stop) => stop !== undefined)[0];
  return first ? around(first) : [DOWNLOAD - 2, DOWNLOAD + 18];
};

const queue: Lesson = {
  id: "queue", title: "The queue that is too long", scenario: "bufferbloat",
  set: { "video.duration": "45 s", "player.buffer": "1 s", "path.0.queue": "2000 ms", "traffic.0.start": `${DOWNLOAD} s`, "traffic.0.start_spread": "0 s" },
  screens: [
    {
      title: "Where packets wait",
      text: ["Before the slowest link of a path stands a queue. A packet that comes while another is being sent waits there. This link sends 10 Mbit/s, and its queue has room for two seconds of packets. The film needs 3 Mbit/s, and has the link to itself for the first ten seconds."],
      cases: cubic,
      ask: "How long does a round trip take at most, once the film is under way? The path itself takes 30 ms.", options: ["Hardly longer than the path: below 150 ms", "About half a second", "Two seconds: the queue is full"],
      answer: ([one]) => [150, 1000, Infinity].findIndex((most) => longestTrip(one, [4, DOWNLOAD]) < most),
      outcome: ([one]) => `${withUnit(longestTrip(one, [4, DOWNLOAD]), "ms")} at most.`,
      why: "While nobody sends more than the link carries, the queue is short, however much room it has.",
      knob: "queue0", scene: { view: () => [4, DOWNLOAD], pace: 0.1 }, charts: ["rtt"],
    },
    {
      title: "Somebody downloads",
      text: ["At ten seconds somebody in the same house begins a download. A download takes what it can get: it adds packets until one is lost, and here none is lost before the queue is full. Grey is what the others have in the queue; the film’s packets stand behind it."],
      cases: cubic,
      ask: "What does the film’s viewer see?", options: ["Nothing: three of ten Mbit/s are enough for the film", "The picture stands still for a second or two", "The picture stands still for longer"],
      answer: ([one]) => (stopped(one) === 0 ? 0 : stopped(one) <= 2 ? 1 : 2),
      outcome: ([one]) => `The picture stood still for ${seconds(stopped(one))} in all${firstStop(one) ? `, for the first time at ${clock(firstStop(one)!.at)}` : ""}. A round trip took up to ${withUnit(longestTrip(one, [DOWNLOAD, 45]), "ms")}.`,
      why: "The window that was enough for a path of 30\u00a0ms now carries only a fraction of the film, and each answer that could enlarge it comes late.",
      knob: "queue0", scene: { view: after, pace: 1 }, charts: ["queue", "rtt", "buffer"],
    },
    {
      title: "Less room",
      text: ["A queue is there so that nothing is lost when packets come together. The usual advice is to make it shorter: one with room for a tenth of a second. More packets will be lost."],
      cases: [{ name: "2000 ms", sender: "cubic" }, { name: "100 ms", sender: "cubic", set: { "path.0.queue": "100 ms" } }],
      ask: "For the film’s viewer that is …", options: ["better", "the same", "worse"],
      answer: ([long, short]) => 1 + Math.sign(Math.round(stopped(short) - stopped(long))),
      outcome: (sessions) => `${stops(sessions)}. The longest round trips: ${sessions.map((session) => withUnit(longestTrip(session, [DOWNLOAD, 45]), "ms")).join(" and ")}.`,
      why: "The download finds its loss sooner, backs off sooner, and leaves less in front of the film.",
      knob: "queue0", scene: { view: after, pace: 1 }, charts: ["queue", "rtt", "buffer"],
    },
    {
      title: "A queue for each",
      text: ["Another remedy leaves the size as it is. FQ-CoDel has a queue for each connection, serves them in turn, and drops packets of a connection whose queue stays long."],
      cases: [{ name: "one for all", sender: "cubic" }, { name: "one for each", sender: "cubic", set: { "path.0.queue": "fq_codel" } }],
      ask: "How long does a round trip of the film take now, at most?", options: ["Less than a tenth of what it took", "About half of it", "As long as before"],
      answer: ([shared, own]) => [0.1, 0.75, Infinity].findIndex((share) => longestTrip(own, [DOWNLOAD, 45]) < share * longestTrip(shared, [DOWNLOAD, 45])),
      outcome: (sessions) => `${sessions.map((session) => `${session.sender}: ${withUnit(longestTrip(session, [DOWNLOAD, 45]), "ms")}`).join("; ")}. ${stops(sessions)}.`,
      why: "The download still gets its share; it fills its own queue, and no longer the film’s.",
      knob: "rtt0", scene: { view: after, pace: 1 }, charts: ["queue", "rtt", "buffer"],
    },
  ],
};

const loss: Lesson = {
  id: "loss", title: "What a loss does to CUBIC, NewReno and BBR", scenario: "wireless",
  // A buffer that does not fill lets every sender use its whole window; one packet is lost, the four hundredth.
  set: { "video.duration": "90 s", "video.rate": "12 Mbit/s", "player.buffer": "90 s", "path.0.queue": "4 bdp", "path.0.loss": { kind: "pattern", file: "one-loss.txt" } },
  files: { "one-loss.txt": "length 1000000\n400\n" },
  screens: [
    {
      title: "A packet is missing",
      text: ["Packets leave the server at the left; they reach the viewer a twentieth of a second later. The radio loses one of them: the cross. Nobody tells the server. But the viewer’s machine answers each packet that arrives, and its answers show the gap."],
      cases: cubic,
      ask: "After what time does the server send the missing packet again? A round trip takes 100 ms.", options: ["At once", "After about one round trip", "After about a second"],
      answer: ([one]) => [50, 500, Infinity].findIndex((most) => (repaired(one) ?? 1) * 1e3 < most),
      outcome: ([one]) => (repaired(one) === null ? "Nothing was lost." : `After ${withUnit(repaired(one)! * 1e3, "ms")}.`),
      why: "The answers to the packets sent after it have to come back first. The viewer’s buffer bridges that without effort.",
      knob: "rtt0", scene: { view: aroundLoss, pace: 0.06 }, charts: ["flight"],
    },
    {
      title: "One loss, three rules",
      text: ["Three servers send the same film over the same link, and each loses one packet, the same one. NewReno is the rule of the textbooks, CUBIC that of most servers today, BBR that of some large ones."],
      cases: three,
      ask: "Who keeps most of its window?", options: ["NewReno", "CUBIC", "BBR"],
      answer: (sessions) => least(sessions, (session) => -(firstLoss(session)?.cwnd_after ?? 0) / (firstLoss(session)?.cwnd_before ?? 1)),
      outcome: (sessions) => `${sessions.map((session) => { const cut = firstLoss(session); return cut ? `${session.sender} goes from ${Math.round(cut.cwnd_before)} to ${Math.round(cut.cwnd_after)} packets (×\u00a0${(cut.cwnd_after / cut.cwnd_before).toFixed(2)})` : session.sender; }).join(", ")}.`,
      why: "To NewReno and CUBIC a loss means that the network is full. BBR measures what arrives in a second, and one lost packet hardly changes that.",
      knob: "rtt0", scene: { view: aroundLoss, pace: 0.06 }, charts: ["window"],
    },
    {
      title: "The way back",
      text: ["A window that was cut has to grow again. NewReno adds one packet in each round trip. CUBIC goes by the clock: fast at first, slowly near the old window, then fast again."],
      cases: three.slice(0, 2),
      ask: "How long does NewReno take until its window is what it was before the loss?", options: ["About a second", "Between 5 and 20 seconds", "More than 20 seconds"],
      answer: ([reno]) => [3, 20, Infinity].findIndex((most) => (regrown(reno) ?? Infinity) <= most),
      outcome: (sessions) => `${sessions.map((session) => { const time = regrown(session); return `${session.sender}: ${time === null ? "not within the session" : seconds(time)}`; }).join("; ")}.`,
      why: "NewReno needs as many round trips to recover as its window lost packets: the longer the path, the longer that takes.",
      knob: "rtt0", scene: { view: () => [0, 40], pace: 2 }, charts: ["window"],
    },
    {
      title: "And the viewer",
      text: ["Now the radio loses not one packet, but 0.15 % of them, at random, and the film is the one of the first lesson: 5.24 Mbit/s with a second of buffer."],
      set: { "video.duration": "60 s", "video.rate": "5.24 Mbit/s", "player.buffer": "1 s", "path.0.queue": "1 bdp", "path.0.loss": "0.15 %" }, cases: three,
      ask: "Whose viewer sees the picture stand still for longest?", options: ["NewReno’s", "CUBIC’s", "BBR’s"],
      answer: (sessions) => least(sessions, (session) => -stopped(session)),
      outcome: (sessions) => `${stops(sessions)}. At 50\u00a0s their windows would carry ${sessions.map((session) => `${withUnit(carried(session, 50, MSS), "Mbit/s")} (${session.sender})`).join(", ")}.`,
      why: "A sender that takes a loss for a full network has no time to recover before the next one.",
      knob: "loss0", scene: { view: stopOr([5, 15]), pace: 0.5 }, charts: ["window", "buffer"],
    },
  ],
};

export const LESSONS: Lesson[] = [film, queue, loss];

/** The settings of a screen's case. */
export const settingsOf = (lesson: Lesson, screen: Screen, one: Case, turned: Settings): Settings => ({ ...lesson.set, ...screen.set, ...one.set, ...turned });
