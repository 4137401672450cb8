"use strict";
// Draws the pictures of the page when they come into view, turns twins together, and changes between light and dark.
(() => {
  const root = document.documentElement;
  const plots = [...document.querySelectorAll(".plot")];
  const material = new Map();
  const drawn = new Set();

  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

  // colours by name (var-truth) become those of the theme
  const painted = (value) => {
    if (typeof value === "string") return value.startsWith("var-") ? colour(value.slice(4)) : value;
    if (Array.isArray(value)) return value.some((one) => typeof one === "string" || typeof one === "object") ? value.map(painted) : value;
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, painted(one)]));
    }
    return value;
  };

  const axis = (given) => ({ gridcolor: colour("grid"), zerolinecolor: colour("grid"), linecolor: colour("grid"),
    automargin: true, ...given });

  const layoutOf = (given, narrow) => {
    const layout = { ...painted(given), paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("text"), size: 12 }, margin: { l: narrow ? 48 : 60, r: 16, t: 12, b: 44 },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, hovermode: "closest", dragmode: "zoom" };
    for (const name of Object.keys(given)) if (/^[xy]axis/.test(name)) layout[name] = axis(painted(given[name]));
    for (const name of ["xaxis", "yaxis"]) if (!given.scene && !layout[name]) layout[name] = axis({});
    if (given.scene) {
      layout.scene = { ...layout.scene, dragmode: "orbit" };
      for (const name of ["xaxis", "yaxis", "zaxis"]) {
        layout.scene[name] = { ...layout.scene[name], gridcolor: colour("grid"), zerolinecolor: colour("grid"),
          color: colour("text"), showbackground: false };
      }
      layout.margin = { l: 0, r: 0, t: 0, b: 0 };
    }
    return layout;
  };

  const twins = (plot) => plots.filter((one) => one !== plot && plot.dataset.twin && one.dataset.twin === plot.dataset.twin);
  const cameras = new Map();
  const led = new Map(); // how many turns of its twin a plot is still following: these are not passed back

  const turn = (plot, camera) => {
    cameras.set(plot.dataset.twin, camera);
    for (const one of twins(plot)) {
      if (!drawn.has(one) || !one.layout) continue;
      led.set(one, (led.get(one) || 0) + 1);
      Plotly.relayout(one, { "scene.camera": camera }).finally(() => led.set(one, led.get(one) - 1));
    }
  };

  const draw = async (plot) => {
    if (drawn.has(plot)) return;
    drawn.add(plot);
    if (!material.has(plot)) {
      const source = plot.parentElement.querySelector('script[type="application/json"]');
      material.set(plot, JSON.parse(source.textContent));
    }
    const { data, layout } = material.get(plot);
    const given = layoutOf(layout, plot.clientWidth < 420);
    const camera = cameras.get(plot.dataset.twin);
    if (camera && given.scene) given.scene.camera = camera;
    await Plotly.newPlot(plot, painted(data), given, { displayModeBar: false, responsive: true, scrollZoom: false });
    if (!given.scene) return;
    const follow = (change) => {
      const turned = change["scene.camera"];
      if (turned && !led.get(plot)) turn(plot, JSON.parse(JSON.stringify(turned)));
    };
    plot.on("plotly_relayouting", follow);
    plot.on("plotly_relayout", follow);
  };

  const drop = (plot) => { // a browser has few drawing contexts: scenes that are out of sight give theirs back
    if (!drawn.has(plot) || !plot.dataset.twin) return;
    drawn.delete(plot);
    Plotly.purge(plot);
  };

  const keys = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, 0.15], ArrowDown: [0, -0.15] };
  const byKey = (event) => {
    const plot = event.currentTarget, step = keys[event.key];
    if (!step || !plot.dataset.twin || !drawn.has(plot) || !plot._fullLayout.scene) return;
    event.preventDefault();
    const { eye, ...rest } = plot._fullLayout.scene.camera;
    const far = Math.hypot(eye.x, eye.y, eye.z);
    const around = Math.atan2(eye.y, eye.x) + step[0];
    const above = Math.max(-1.4, Math.min(1.4, Math.asin(eye.z / far) + step[1]));
    const flat = far * Math.cos(above);
    const camera = { ...rest, eye: { x: flat * Math.cos(around), y: flat * Math.sin(around), z: far * Math.sin(above) } };
    Plotly.relayout(plot, { "scene.camera": camera });
  };

  const theme = (name) => {
    root.dataset.theme = name;
    const button = document.getElementById("theme");
    button.textContent = name === "dark" ? "light" : "dark";
    button.setAttribute("aria-pressed", String(name === "dark"));
    button.setAttribute("aria-label", `change to ${button.textContent} colours`);
    for (const plot of [...drawn]) {
      drawn.delete(plot);
      draw(plot);
    }
  };
  const wishes = window.matchMedia("(prefers-color-scheme: dark)");
  const kept = () => { try { return sessionStorage.getItem("theme"); } catch { return null; } };
  const keep = (name) => { try { sessionStorage.setItem("theme", name); } catch { /* a file may have no storage */ } };
  theme(kept() || (wishes.matches ? "dark" : "light"));
  wishes.addEventListener("change", () => theme(wishes.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () => {
    const name = root.dataset.theme === "dark" ? "light" : "dark";
    keep(name);
    theme(name);
  });

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) (entry.isIntersecting ? draw : drop)(entry.target);
  }, { rootMargin: "300px" });
  for (const plot of plots) {
    near.observe(plot);
    plot.addEventListener("keydown", byKey);
  }

  const version = root.dataset.version; // a page that is watched asks whether there is something new
  if (version) {
    setInterval(async () => {
      try {
        const found = await (await fetch("version", { cache: "no-store" })).text();
        if (found !== version) location.reload();
      } catch { /* the server is away; it may come back */ }
    }, 3000);
  }
})();
