// Draws a chart when it comes near the screen, the others when there is time, in the colours of the page; lets
// the legend hide series.
"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const hosts = [...document.querySelectorAll("[data-figure]")];
  const drawn = new Map(); // from a host to the bokeh document in it

  const dark = matchMedia("(prefers-color-scheme: dark)");

  function paint(host) {
    host.dataset.painted = dark.matches ? "dark" : "light";
    const style = getComputedStyle(document.documentElement);
    const [ink, faint, line] = ["--ink", "--faint", "--line"].map((name) => style.getPropertyValue(name).trim());
    for (const model of drawn.get(host).all_models) {
      if (model.type === "Text") model.text_color = ink;
      if (model.type === "Grid") model.grid_line_color = line;
      if ("axis_label_text_color" in model) {
        model.setv({
          axis_label_text_color: faint,
          major_label_text_color: faint,
          axis_line_color: line,
          major_tick_line_color: line,
          minor_tick_line_color: null,
        });
      }
    }
  }

  // As the legend of its section says.
  function showSeries(host) {
    for (const button of host.closest("section").querySelectorAll(".legend button")) {
      const visible = button.getAttribute("aria-pressed") === "true";
      for (const model of drawn.get(host).all_models) {
        if (model.name === button.dataset.series) model.visible = visible;
      }
    }
  }

  async function draw(host) {
    if (host.dataset.state) return;
    host.dataset.state = "drawing";
    const [view] = await Bokeh.embed.embed_item(figures[host.dataset.figure], host.id);
    drawn.set(host, view.model.document);
    paint(host);
    showSeries(host);
    host.dataset.state = "drawn";
  }

  const near = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
    },
    { rootMargin: "800px" },
  );
  hosts.forEach((host) => near.observe(host));

  // Drawing ends after the event that a browser prints on: all must be there before.
  const whenIdle = window.requestIdleCallback ?? ((act) => setTimeout(act, 100));
  async function drawNext() {
    const left = hosts.find((host) => !host.dataset.state);
    if (!left) return;
    await draw(left);
    whenIdle(drawNext);
  }
  addEventListener("load", () => whenIdle(drawNext));
  // A chart keeps the width that it has on the screen: on paper it is made smaller, as wide as its panel.
  const paperWidth = (host) => (host.closest(".panels").children.length > 1 ? 325 : 680); // of A4 and Letter
  let printing = false;
  const repaint = () => printing || [...drawn.keys()].forEach(paint);
  addEventListener("beforeprint", () => {
    printing = true;
    hosts.forEach(draw);
    for (const host of hosts) host.style.zoom = Math.min(1, paperWidth(host) / host.clientWidth);
    for (const details of document.querySelectorAll("section details")) details.open = true;
  });
  addEventListener("afterprint", () => {
    printing = false;
    hosts.forEach((host) => (host.style.zoom = ""));
    repaint();
  });
  dark.addEventListener("change", repaint); // not for paper, on which browsers are light

  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      const section = button.closest("section");
      [...drawn.keys()].filter((host) => section.contains(host)).forEach(showSeries);
    });
  }
})();
