// node play.mjs < jobs.json > decisions.json: a job is { player, steps, rates, sizes, duration }; its answer { decisions, startup,
// stalled } with times in nanoseconds. Each job in a process of its own: players keep state in their modules.

import fs from 'node:fs';
import { install } from './clock.mjs';
import { IdealSession } from './session.mjs';

const job = JSON.parse(fs.readFileSync(0, 'utf8'));
install();
const { play } = await import(`./${job.player.replace('.', '')}.mjs`);
const session = new IdealSession(job);
await play(session);
const { decisions, startup, stalled } = session;
fs.writeSync(1, JSON.stringify({ decisions, startup, stalled, ended: session.ended }));
process.exit(0);
