// What every page of a player tells on the console, a line each, which Chromium writes to its standard error.
"use strict";
const wanted = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const video = document.getElementById("video");
const origin = performance.now();
const tell = (event, more) =>
    console.log("playpath " + JSON.stringify({ event, at_s: (performance.now() - origin) / 1000, ...more }));

/** Seconds of media ahead of the picture. */
function ahead() {
    for (let i = 0; i < video.buffered.length; i++) {
        const end = video.buffered.end(i);
        if (video.buffered.start(i) <= video.currentTime + 0.1 && end >= video.currentTime) return end - video.currentTime;
    }
    return 0;
}

/** The player begins; `buffer`: seconds of video ahead. */
function begin(version, buffer) {
    for (const name of ["playing", "waiting", "ended"])
        video.addEventListener(name, () => tell(name, { position_s: video.currentTime }));
    setInterval(() => {
        const quality = video.getVideoPlaybackQuality();
        tell("alive", {
            position_s: video.currentTime, buffer_s: buffer(),
            total: quality.totalVideoFrames, dropped: quality.droppedVideoFrames,
        });
    }, 250);
    tell("start", { version });
}
