"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const root = document.documentElement;
  const by = (id) => document.getElementById(id);
  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const draw = (tag, attributes) => {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };
  const slug = (word) => word.toLowerCase().replaceAll(" ", "-");
  root.classList.add("js");

  const toggle = by("theme");
  const kept = { get: () => { try { return localStorage.getItem("tokenpace-theme"); } catch { return null; } },
                 set: (theme) => { try { localStorage.setItem("tokenpace-theme", theme); } catch { /* kept nowhere */ } } };
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { toggle.textContent = dark() ? "Light" : "Dark"; };
  if (kept.get()) root.dataset.theme = kept.get();
  toggle.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; kept.set(root.dataset.theme); label(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();

  /* A part of the page is made anew only when what it shows has changed: a selection or a tooltip stays. */
  const shown = new Map();
  const part = (id, data, fill) => {
    const text = JSON.stringify(data ?? null);
    if (shown.get(id) === text) return;
    shown.set(id, text);
    const node = by(id);
    node.hidden = !data || data.length === 0;
    if (!node.hidden) fill(node, data);
  };
  const pairs = (node, data) => node.replaceChildren(...data.map(([name, value]) => {
    const entry = make("div");
    entry.append(make("dt", "", name), make("dd", "", value));
    return entry;
  }));
  const table = (node, heads, rows) => {
    const top = make("tr"), head = make("thead"), body = make("tbody");
    top.append(...heads.map(([text, className]) => Object.assign(make("th", className, text), { scope: "col" })));
    head.append(top);
    body.append(...rows);
    node.querySelector("table").replaceChildren(head, body);
  };
  const row = (cells, classes) => {
    const line = make("tr");
    line.append(...cells.map((cell, i) => make("td", classes[i], cell)));
    return line;
  };

  const objectives = (node, rules) => {
    const numbers = ["observed", "limit", "margin", "n", "interval"];
    table(node, [["verdict"], ["objective"], ...numbers.map((name) => [name, "n"])], rules.flatMap((rule) => {
      const line = row(["", rule.rule, ...numbers.map((name) => rule[name])], ["", "key", "n", "n", "n", "n", "n"]);
      const badge = make("span", "badge " + slug(rule.verdict));
      badge.append(make("i", "", rule.sign), rule.verdict);
      line.cells[0].append(badge);
      numbers.forEach((name, i) => { line.cells[i + 2].dataset.name = name; });
      if (!rule.message || rule.verdict === "PASS") return [line];
      line.className = "has-message";
      const more = row(["", rule.message], ["", ""]);
      more.className = "message";
      more.cells[1].colSpan = 6;
      return [line, more];
    }));
  };

  const charts = new Map();
  const newChart = () => {
    const figure = make("figure"), caption = make("figcaption"), title = make("h3"), legend = make("ul", "legend");
    const box = make("div", "chart"), cross = make("div", "cross"), tip = make("div", "tip");
    const svg = draw("svg", { viewBox: "0 0 2000 1000", preserveAspectRatio: "none", "aria-hidden": "true" });
    caption.append(title, legend);
    figure.append(caption, box);
    box.tabIndex = 0;
    box.setAttribute("role", "img");
    let chart = null, at = -1;
    const hide = () => { cross.remove(); tip.remove(); at = -1; };
    const show = (i) => {
      if (i < 0 || i >= chart.xs.length) return hide();
      at = i;
      const x = 100 * chart.xs[i];
      cross.replaceChildren();
      tip.replaceChildren(make("strong", "", chart.heads[i]));
      cross.style.left = x + "%";
      for (const series of chart.series) {
        const y = series.ys[i];
        if (y === null || y === undefined) continue;
        const dot = make("b", series.colour), entry = make("div");
        dot.style.bottom = 100 * y + "%";
        cross.append(dot);
        entry.append(make("span", "", series.label), series.texts[i]);
        tip.append(entry);
      }
      tip.style.left = x < 50 ? `calc(${x}% + 12px)` : "auto";
      tip.style.right = x < 50 ? "auto" : `calc(${100 - x}% + 12px)`;
      box.append(cross, tip);
    };
    steer(box, () => chart.xs, () => at, show, hide);
    const tick = (className, side) => ([place, text]) => {
      const node = make("span", className, text);
      node.style[side] = 100 * place + "%";
      node.setAttribute("aria-hidden", "true");
      return node;
    };
    const set = (next) => {
      chart = next;
      figure.id = "figure-" + chart.name;
      title.textContent = chart.title;
      box.setAttribute("aria-label", chart.summary);
      legend.replaceChildren(...chart.legend.map(([text, colour, shape, path]) => {
        const item = make("li"), sample = draw("svg", { class: colour, viewBox: "0 0 20 10" });
        sample.append(draw("path", { class: "mark " + shape, d: path }));
        item.append(sample, text);
        return item;
      }));
      const grid = chart.y_ticks.map(([y]) => `M0 ${1000 - 1000 * y}H2000`).join("") + chart.x_ticks.map(([x]) => `M${2000 * x} 0V1000`).join("");
      svg.replaceChildren(
        ...chart.shades.map(([left, right]) => draw("rect", { class: "shade", x: 2000 * left, y: 0, width: 2000 * (right - left), height: 1000 })),
        draw("path", { class: "grid", d: grid }),
        draw("path", { class: "axis", d: "M0 1000H2000" }),
        ...chart.marks.map(([kind, colour, path]) => draw("path", { class: `mark ${kind} ${colour}`, d: path })),
      );
      box.replaceChildren(svg, make("span", "yn", chart.y_title), make("span", "xn", chart.x_title),
        ...chart.y_ticks.map(tick("yt", "bottom")), ...chart.x_ticks.map(tick("xt", "left")));
      if (at >= 0) show(at);
    };
    return { figure, set };
  };
  const drawCharts = (list) => {
    by("time").hidden = list.length === 0;
    const names = new Set(list.map((chart) => chart.name));
    for (const [name, { figure }] of charts) if (!names.has(name)) { figure.remove(); charts.delete(name); }
    list.forEach((chart, i) => {
      if (!charts.has(chart.name)) charts.set(chart.name, newChart());
      const mine = charts.get(chart.name), place = by("charts").children[i];
      mine.set(chart);
      if (place !== mine.figure) by("charts").insertBefore(mine.figure, place || null);
    });
  };

  const say = (state, word, sentence) => {
    by("verdict").className = `card verdict ${state} ${slug(word)}`;
    for (const [id, text] of [["word", word], ["sentence", sentence]]) if (by(id).textContent !== text) by(id).textContent = text;
  };
  const show = (data) => {
    document.title = `${data.word} · tokenpace within Locust`;
    say(data.state, data.word, data.sentence);
    part("remark", data.remark, (node, text) => { node.textContent = text; });
    part("causes", data.causes, (node, causes) => node.replaceChildren(...causes.map((cause) => make("li", "", cause))));
    part("facts", data.facts, pairs);
    part("files", data.files, (node, files) => node.replaceChildren(...files.map(([name, title]) => {
      const link = make("a", "", title);
      link.href = "files/" + encodeURIComponent(name);
      link.download = "";
      return link;
    })));
    part("folder", data.folder, (node, folder) => { node.textContent = `All of it lies in ${folder}`; });
    part("tiles", data.tiles, (node, tiles) => node.replaceChildren(...tiles.map(([name, value, unit, sub]) => {
      const tile = make("div", "tile"), figure = make("div", "value", value);
      if (unit) figure.append(" ", make("small", "", unit));
      tile.append(make("div", "name", name), figure, make("div", "sub", sub));
      return tile;
    })));
    part("objectives", data.rules, objectives);
    drawCharts(data.charts || []);
    part("hint", data.hint, (node, text) => { node.textContent = text; });
    part("metrics", data.metrics, (node, lines) => {
      const heads = ["n", ...data.columns, "max", "mean"].map((name) => [name, "n"]);
      const classes = ["key", "soft", "unit", ...heads.map(() => "n")];
      table(node, [["metric"], ["basis"], ["unit"], ...heads], lines.map((line) => row(line, classes)));
    });
    part("rates", data.rates, (node, rates) =>
      table(node, [["rate"], ["value", "n"], ["counted", "gap"]], rates.map((rate) => row(rate, ["key", "n", "soft gap"]))));
    part("errors", data.errors, (node, errors) =>
      table(node, [["error"], ["count", "n"], ["message", "gap"]], errors.map((error) => row(error, ["key", "n", "msg gap"]))));
    part("server", data.server, (node, figures) => pairs(node.querySelector("dl"), figures));
    part("health", data.health, (node, figures) => pairs(node.querySelector("dl"), figures));
    part("samples", data.samples, (node, samples) => node.querySelector("div").replaceChildren(...samples.map(([prompt, answer]) => {
      const talk = make("article");
      talk.append(make("div", "who", "prompt"), make("pre", "", prompt), make("div", "who", "answer"), make("pre", "", answer));
      return talk;
    })));
    part("notes", data.notes, (node, notes) => node.querySelector("ul").replaceChildren(...notes.map((note) => make("li", "", note))));
  };

  const SOON_MS = 1600, LATER_MS = 2500;
  const look = async () => {
    let wait = LATER_MS;
    try {
      const answer = await fetch("live.json", { cache: "no-store", credentials: "same-origin" });
      if (!(answer.headers.get("content-type") || "").includes("json")) {
        say("gone", "LOGGED OUT", "Locust asks for a login again.");
      } else {
        const data = await answer.json();
        show(data);
        if (data.state === "running" || data.state === "starting") wait = SOON_MS;
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      say("gone", "GONE", "Locust no longer answers: its process has ended or can't be reached. What is shown is what was known last.");
    } finally {
      setTimeout(look, wait);
    }
  };
  look();
})();
