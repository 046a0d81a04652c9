// dash.js, the whole player as its package ships it, in a browser that is none (`browser.mjs`).
// For `laws.mjs`: its modules one by one, which are in the source map of the bundle and are unpacked from there.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { furnish } from './browser.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

export function unpack() {
    const from = path.join(here, 'node_modules/dashjs');
    const version = JSON.parse(fs.readFileSync(path.join(from, 'package.json'))).version;
    const into = path.join(here, 'node_modules/.unpacked', `dashjs-${version}`);
    if (!fs.existsSync(path.join(into, 'done'))) {
        const map = JSON.parse(fs.readFileSync(path.join(from, 'dist/modern/esm/dash.all.debug.js.map')));
        map.sources.forEach((source, index) => {
            const name = source.replace(/^webpack:\/\/[^/]*\//, '').replace(/^\.\//, '');
            if (!name.startsWith('src/') || !map.sourcesContent[index]) return;
            const file = path.join(into, name);
            fs.mkdirSync(path.dirname(file), { recursive: true });
            fs.writeFileSync(file, map.sourcesContent[index]);
        });
        fs.writeFileSync(path.join(into, 'package.json'), '{"type": "module"}');
        fs.writeFileSync(path.join(into, 'done'), '');
    }
    return (module) => import(pathToFileURL(path.join(into, 'src', `${module}.js`)));
}

const TIMESCALE = 1_000_000;
const MPD = 'http://server/manifest.mpd';

/** The rungs as one adaptation set, segments by number. */
function manifest({ rates, duration, segments }) {
    const rungs = rates.map((rate, i) =>
        `<Representation id="${i}" bandwidth="${rate}" width="640" height="360" codecs="avc1.64001e"/>`);
    return `<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT${(segments * duration) / 1e9}S"
        minBufferTime="PT2S" profiles="urn:mpeg:dash:profile:isoff-live:2011"><Period id="p">
        <AdaptationSet contentType="video" mimeType="video/mp4" segmentAlignment="true" startWithSAP="1">
        <SegmentTemplate timescale="${TIMESCALE}" duration="${(duration / 1e9) * TIMESCALE}" startNumber="0"
            initialization="$RepresentationID$/init" media="$RepresentationID$/$Number$"/>
        ${rungs.join('')}</AdaptationSet></Period></MPD>`;
}

export async function play(session) {
    const video = furnish(session, {
        timescale: TIMESCALE,
        textOf: (url) => (url.startsWith(MPD) ? manifest(session) : undefined),
        segmentOf: (url) => {
            const found = /server\/(\d+)\/(\d+)\?/.exec(url);
            return found && { rung: Number(found[1]), segment: Number(found[2]) };
        },
    });
    const { MediaPlayer } = await import('./node_modules/dashjs/dist/modern/esm/dash.mediaplayer.debug.js');
    const player = MediaPlayer().create();
    player.updateSettings({ debug: { logLevel: Number(process.env.DASHJS_LOG ?? 0) } });
    // Each address another one: of two responses with one address dash.js takes the first one's Resource Timing for both.
    let requests = 0;
    player.addRequestInterceptor((request) => {
        request.url += `?${requests++}`;
        return Promise.resolve(request);
    });
    player.on(MediaPlayer.events.ERROR, ({ error }) => {
        throw new Error(`dash.js: ${error.message ?? error}`);
    });
    player.initialize(video, MPD, true);
    session.timersCut = false;
    await session.run(1e15);
}
