// The timeline: one plot for each panel, zoomed together, stalls as bands.
(() => {
  const all = JSON.parse(document.getElementById("timeline-data").textContent);
  const chooser = document.getElementById("timeline-sender");
  const place = document.getElementById("timeline");
  const colours = ["#4477aa", "#ee6677", "#228833", "#aa3377"];
  const dashes = [[], [6, 4], [2, 3], [8, 3, 2, 3]];
  let plots = [];
  let zooming = false;

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const bands = (stalls) => (u) => {
    const c = u.ctx;
    c.save();
    c.fillStyle = css("--stall");
    for (const [from, to] of stalls) {
      const a = Math.max(u.valToPos(from, "x", true), u.bbox.left);
      const b = Math.min(u.valToPos(to, "x", true), u.bbox.left + u.bbox.width);
      if (b >= u.bbox.left && a <= u.bbox.left + u.bbox.width) c.fillRect(a, u.bbox.top, Math.max(b - a, 1), u.bbox.height);
    }
    c.restore();
  };

  const zoomAll = (from) => {
    if (zooming) return;
    zooming = true;
    const { min, max } = from.scales.x;
    for (const plot of plots) if (plot !== from) plot.setScale("x", { min, max });
    zooming = false;
  };

  const range = (sender) => {
    const ends = sender.panels.flatMap((p) => p.lines.map((l) => l.t[l.t.length - 1] || 0));
    return [0, Math.max(1, ...ends)];
  };

  const plot = (sender, panel, last) => {
    const axis = { stroke: css("--ink"), grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--grid") } };
    const title = document.createElement("p");
    title.className = "panel-title";
    title.textContent = panel.label;
    const box = document.createElement("div");
    box.className = "panel";
    box.append(title);
    place.append(box);
    const zero = !panel.label.startsWith("RTT");
    const options = {
      width: place.clientWidth,
      height: last ? 170 : 150,
      cursor: { sync: { key: "timeline", scales: ["x", null] }, drag: { x: true, y: false } },
      legend: { live: true },
      scales: {
        x: { time: false, range: (u, min, max) => [min, max] },
        y: { range: (u, min, max) => uPlot.rangeNum(zero ? Math.min(0, min ?? 0) : min ?? 0, max ?? 1, { min: { pad: zero ? 0 : .1, soft: zero ? 0 : undefined, mode: zero ? 1 : 0 }, max: { pad: .1, mode: 0 } }) },
      },
      axes: [{ ...axis, label: last ? "time (s)" : undefined, labelSize: 18, size: 30 }, { ...axis, size: 52 }],
      series: [
        { label: "t (s)" },
        ...panel.lines.map((l, i) => ({ label: l.label, stroke: colours[i % 4], dash: dashes[i % 4], width: 1.2, spanGaps: true, points: { show: false } })),
      ],
      hooks: { drawClear: [bands(sender.stalls)], setScale: [(u, key) => { if (key === "x" && plots.includes(u)) zoomAll(u); }] },
    };
    const made = new uPlot(options, uPlot.join(panel.lines.map((l) => [l.t, l.y])), box);
    made.over.addEventListener("dblclick", () => reset());
    return made;
  };

  const reset = () => {
    const [min, max] = range(all[chooser.value]);
    if (plots[0]) plots[0].setScale("x", { min, max });
  };

  const show = () => {
    for (const old of plots) old.destroy();
    plots = [];
    place.textContent = "";
    const sender = all[chooser.value];
    const made = sender.panels.map((panel, i) => plot(sender, panel, i === sender.panels.length - 1));
    plots = made;
    reset();
  };

  chooser.addEventListener("change", show);
  document.getElementById("timeline-reset").addEventListener("click", reset);
  let width = 0;
  addEventListener("resize", () => {
    if (place.clientWidth === width) return;
    width = place.clientWidth;
    for (const p of plots) p.setSize({ width, height: p.height });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  width = place.clientWidth;
  show();
})();
