// Draws a chart when it comes near the screen, in the colours of the page, and lets the legend hide series.
"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const darkness = matchMedia("(prefers-color-scheme: dark)");

  const models = () => Bokeh.documents.flatMap((drawn) => [...drawn.all_models]);

  function paint() {
    const style = getComputedStyle(document.documentElement);
    const [ink, faint, line] = ["--ink", "--faint", "--line"].map((name) => style.getPropertyValue(name).trim());
    for (const model of models()) {
      if (model.type === "Title") model.text_color = ink;
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

  function hide(section) {
    for (const button of section.querySelectorAll(".legend button")) {
      const visible = button.getAttribute("aria-pressed") === "true";
      const hosts = new Set([...section.querySelectorAll("[data-figure]")].map((host) => host.dataset.figure));
      for (const model of models()) {
        if (model.name === button.dataset.series && hosts.has(model.document.figure)) model.visible = visible;
      }
    }
  }

  async function draw(host) {
    const key = host.dataset.figure;
    if (host.dataset.state) return;
    host.dataset.state = "drawing";
    const before = new Set(Bokeh.documents);
    await Bokeh.embed.embed_item(figures[key], host.id);
    for (const drawn of Bokeh.documents) if (!before.has(drawn)) drawn.figure ??= key;
    paint();
    hide(host.closest("section"));
    host.dataset.state = "drawn";
  }

  // One after the other, so that the documents of two figures are never mixed up.
  let last = Promise.resolve();
  const enqueue = (host) => (last = last.then(() => draw(host)));

  const hosts = [...document.querySelectorAll("[data-figure]")];
  const near = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) {
          near.unobserve(entry.target);
          enqueue(entry.target);
        }
      }
    },
    { rootMargin: "800px" },
  );
  hosts.forEach((host) => near.observe(host));
  addEventListener("beforeprint", () => hosts.forEach(enqueue));
  darkness.addEventListener("change", paint);

  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      hide(button.closest("section"));
    });
  }
})();
