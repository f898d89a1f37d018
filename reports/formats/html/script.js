"use strict";
(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  root.classList.add("js");

  const toggle = document.getElementById("theme");
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { toggle.textContent = dark() ? "Light" : "Dark"; };
  toggle.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; label(); });
  label();

  const table = document.getElementById("requests");
  const rows = table ? [...table.tBodies[0].rows] : [];
  const cell = (row, column) => row.cells[column].textContent;

  const lines = (box, chart) => {
    const cross = make("div", "cross");
    const tip = make("div", "tip");
    let at = -1;
    const hide = () => { cross.remove(); tip.remove(); at = -1; };
    const show = (i) => {
      if (i < 0 || i >= chart.xs.length) return;
      at = i;
      cross.replaceChildren(); tip.replaceChildren(make("strong", "", chart.heads[i]));
      cross.style.left = 100 * chart.xs[i] + "%";
      for (const series of chart.series) {
        const y = series.ys[i];
        if (y === null || y === undefined) continue;
        const dot = make("b", series.colour);
        dot.style.bottom = 100 * y + "%";
        cross.append(dot);
        const entry = make("div");
        entry.append(make("span", "", series.label), make("em", "", series.texts[i]));
        entry.lastChild.style.fontStyle = "normal";
        tip.append(entry);
      }
      tip.style.left = tip.style.right = "auto";
      if (chart.xs[i] < 0.5) tip.style.left = `calc(${100 * chart.xs[i]}% + 12px)`;
      else tip.style.right = `calc(${100 - 100 * chart.xs[i]}% + 12px)`;
      box.append(cross, tip);
    };
    steer(box, () => chart.xs, () => at, show, hide);
  };
  const scatter = (box, chart) => {
    const path = box.querySelector(".mark.dots");
    if (!path || !rows.length) return;
    const points = [...path.getAttribute("d").matchAll(/M(\d+) (\d+)/g)].map((m) => [m[1] / 2000, m[2] / 1000]);
    const mine = rows.filter((row) => !row.classList.contains("f") && cell(row, chart.column) !== "–");
    if (mine.length !== points.length) return;
    const tip = make("div", "tip");
    const ring = make("div", "cross");
    box.addEventListener("pointermove", (event) => {
      const area = box.getBoundingClientRect();
      let best = -1, least = 400;
      points.forEach(([x, y], i) => {
        const dx = x * area.width - (event.clientX - area.left), dy = y * area.height - (event.clientY - area.top);
        if (dx * dx + dy * dy < least) { least = dx * dx + dy * dy; best = i; }
      });
      tip.remove(); ring.remove();
      if (best < 0) return;
      const row = mine[best];
      tip.replaceChildren(make("strong", "", `request ${cell(row, 0)}`));
      [["sent at", 1, " s"], ["prompt tokens", 3, ""], ["output tokens", 4, ""], ["TTFT", 5, " ms"], ["TPOT", 6, " ms"], ["end to end", 7, " ms"]]
        .forEach(([name, column, unit]) => {
          const entry = make("div");
          entry.append(make("span", "", name), document.createTextNode(cell(row, column) + unit));
          tip.append(entry);
        });
      const [x, y] = points[best];
      tip.style.left = tip.style.right = "auto";
      if (x < 0.5) tip.style.left = `calc(${100 * x}% + 12px)`; else tip.style.right = `calc(${100 - 100 * x}% + 12px)`;
      const dot = make("b", "s1");
      dot.style.bottom = 100 - 100 * y + "%";
      ring.style.left = 100 * x + "%"; ring.style.background = "none";
      ring.replaceChildren(dot);
      box.append(ring, tip);
    });
    box.addEventListener("pointerleave", () => { tip.remove(); ring.remove(); });
  };
  for (const [name, chart] of Object.entries(data.charts)) {
    const box = document.getElementById(`chart-${name}`);
    if (chart.column !== null) scatter(box, chart); else if (chart.xs.length) lines(box, chart);
  }

  if (!table) return;
  const body = table.tBodies[0];
  const only = document.getElementById("only-failed");
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");
  const filter = () => {
    const words = search.value.trim().toLowerCase();
    let count = 0;
    for (const row of rows) {
      const keep = (!only.checked || row.classList.contains("f")) && (!words || row.textContent.toLowerCase().includes(words));
      row.hidden = !keep;
      count += keep;
    }
    shown.textContent = `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
  };
  only.addEventListener("change", filter);
  search.addEventListener("input", filter);
  filter();
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => {
      const text = cell(row, column);
      const number = Number(text.replaceAll(",", ""));
      return text === "–" || text === "" ? null : Number.isNaN(number) ? text : number;
    };
    const keyed = rows.map((row) => [key(row), row]);
    keyed.sort(([a], [b]) => a === null ? (b === null ? 0 : 1) : b === null ? -1 : (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1));
    body.append(...keyed.map(([, row]) => row));
  }));
})();
