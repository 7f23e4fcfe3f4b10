// The floor explorer: the library's own decision, repeated in the page for every floor and K a reader tries.
// Foreign text only ever becomes text: nothing here writes HTML.
(() => {
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const MOST_NAMED = 30, QUIET = 500;
const ROWS = [
  ["a", "relevant", "answerable: best relevant within K"], ["m", "missing", "answer missing: best match"],
  ["o", "far", "off-topic: best match"], ["p", "far", "probes: best match"], ["u", "unjudged", "unknown: best match"],
];
const CLASS = {
  a: "answerable", m: "answer missing", o: "off-topic", p: "off-topic probe", u: "answerability unknown",
};
const STATE = { "+": "relevant", "-": "judged wrong", ".": "not judged" };

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function draw(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// ---- numbers as the report writes them

// one decimal, halves to even as Python rounds them: only quarters of a percent can lie exactly between
function percent(value) {
  const points = value * 100;
  const text = (points * 4) % 4 === 1 ? `${Math.floor(points)}.2` : points.toFixed(1);
  return text.replace(/\.0$/, "") + "%";
}
const short = (value) => String(Number(value.toPrecision(4))).replace("-", "−");
const full = (value) => (Number.isInteger(value) ? value.toFixed(1) : String(value));
const many = (n, one, several) => `${n.toLocaleString("en-US")} ${n === 1 ? one : several}`;

// the library's Wilson interval in scipy's order of arithmetic, so that the printed digits are the same
function wilson(k, n, z) {
  const p = k / n, zz = z * z, over = 2 * (n + zz);
  const middle = (2 * n * p + zz) / over, half = z / over * Math.sqrt(4 * n * p * (1 - p) + zz);
  return [k === 0 ? 0 : middle - half, k === n ? 1 : middle + half];
}

function interval(k, n, z) {
  const [low, high] = wilson(k, n, z).map((bound) => (bound * 100).toFixed(0));
  return `${low}–${high}%`;
}

// ---- what a floor and a cap decide

function doubles(text) {
  return text.split(",").map((row) => {
    const bytes = Uint8Array.from(atob(row), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Float64Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
  });
}

// the same arithmetic in doubles as contract.lowest_accepted
function passes(data, floor) {
  if (floor === null) return (similarity) => similarity >= -Infinity;
  const bar = data.inclusive ? floor - data.tolerance : floor + data.tolerance;
  return data.inclusive ? (similarity) => similarity >= bar : (similarity) => similarity > bar;
}

function decide(data, floor, k) {
  const n = data.ids.length, pass = passes(data, floor);
  const found = {
    floor, k, accepted: new Uint16Array(n), relevant: new Uint16Array(n), unjudged: new Uint16Array(n),
  };
  for (let q = 0; q < n; q += 1) {
    for (let rank = 0; rank < k; rank += 1) {
      if (!pass(data.similarity[q][rank])) continue;
      found.accepted[q] += 1;
      const state = data.states[q * data.kMax + rank];
      if (state === "+") found.relevant[q] += 1;
      else if (state === ".") found.unjudged[q] += 1;
    }
  }
  return found;
}

function ratesOf(data, found) {
  const n = { a: 0, o: 0, m: 0, u: 0, p: 0 }, answered = { a: 0, o: 0, m: 0, u: 0, p: 0 };
  let hits = 0, without = 0, surely = 0, relevant = 0, unjudged = 0, own = 0, wanted = 0;
  data.classes.forEach((kind, q) => {
    const any = found.accepted[q] > 0, hit = found.relevant[q] > 0;
    n[kind] += 1;
    if (any) answered[kind] += 1;
    if (kind === "a") {
      hits += hit;
      own += found.accepted[q];
      relevant += found.relevant[q];
      unjudged += found.unjudged[q];
      wanted += data.relevant[q];
    }
    if ("aom".includes(kind) && any && !hit) {
      without += 1;
      surely += kind !== "a" || found.unjudged[q] === 0;
    }
  });
  const known = answered.a + answered.o + answered.m;
  return {
    hit_rate: [hits, n.a],
    coverage: [known + answered.u, n.a + n.o + n.m + n.u],
    empty_context_rate: [n.a - answered.a, n.a],
    false_answer_rate_off_topic: [answered.o, n.o],
    false_answer_rate_probes: [answered.p, n.p],
    false_answer_rate_missing_answer: [answered.m, n.m],
    risk_low: [surely, known],
    risk_high: [without, known],
    precision_judged: [relevant, own - unjudged],
    precision_low: [relevant, own],
    unjudged_share: [unjudged, own],
    recall_micro: [relevant, wanted],
  };
}

// why a query fails, in the words of the table of failing queries; null when it does not
function failure(data, found, q) {
  const kind = data.classes[q];
  if (kind === "a") {
    if (found.relevant[q] > 0) return null;
    if (Number.isNaN(data.best[q][0])) return "index miss";
    return data.bestRank[q] === 0 || data.bestRank[q] > found.k ? "rank miss" : "floor miss";
  }
  if (found.accepted[q] === 0) return null;
  return { o: "off-topic but answered", m: "answer missing but answered", p: "probe but answered" }[kind] || null;
}

function changes(data, before, now) {
  const groups = [
    ["lost", "answer lost", "answers lost"], ["won", "answer won", "answers won"],
    ["false", "now answered wrongly", "now answered wrongly"], ["refused", "no longer answered", "no longer answered"],
    ["emptied", "without a relevant passage before, now empty", "without a relevant passage before, now empty"],
    ["filled", "empty before, now given passages without a relevant one",
      "empty before, now given passages without a relevant one"],
  ].map(([key, one, several]) => ({ key, one, several, queries: [] }));
  const into = Object.fromEntries(groups.map((group) => [group.key, group.queries]));
  data.classes.forEach((kind, q) => {
    const was = before.accepted[q] > 0, is = now.accepted[q] > 0;
    const had = before.relevant[q] > 0, has = now.relevant[q] > 0;
    const answerable = kind === "a" || kind === "u";
    if (answerable && had !== has) into[has ? "won" : "lost"].push(q);
    else if (was !== is) into[answerable ? (is ? "filled" : "emptied") : (is ? "false" : "refused")].push(q);
  });
  return groups.filter((group) => group.queries.length > 0);
}

// ---- the bands with a line over them

function positions(data, k) {
  return data.classes.map((kind, q) => {
    let best = NaN;
    for (let rank = 0; rank < k; rank += 1) {
      if (kind === "a" && data.states[q * data.kMax + rank] !== "+") continue;
      const here = data.similarity[q][rank];
      if (!(here <= best)) best = Number.isNaN(here) ? best : here;
    }
    return best;
  });
}

function roundTicks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high; i += 1) ticks.push(Number((i * step).toPrecision(6)));
  return ticks;
}

function drawBands(svg, data, found, selected) {
  const width = Math.max(svg.clientWidth || 0, 240), each = 46, top = 20, edge = 8;
  const rows = ROWS.filter(([kind]) => data.classes.includes(kind));
  const bottom = top + rows.length * each, low = data.stops[0], high = data.stops[data.stops.length - 1];
  const x = (value) => edge + ((Math.min(Math.max(value, low), high) - low) / (high - low)) * (width - 2 * edge);
  const at = found.floor === null ? 0 : x(found.floor), pass = passes(data, found.floor);
  svg.setAttribute("viewBox", `0 0 ${width} ${bottom + 24}`);
  svg.style.height = `${bottom + 24}px`;
  svg.replaceChildren(draw("rect", {
    class: "cal-kept-side", x: at, y: top, width: Math.max(width - at, 0), height: bottom - top,
  }));
  if (found.floor !== null) svg.append(draw("line", { class: "cal-floor", x1: at, x2: at, y1: top - 2, y2: bottom }));
  const places = positions(data, found.k);
  rows.forEach(([kind, colour, label], row) => {
    const y = top + row * each + 20;
    let kept = "", cut = "", n = 0, passed = 0;
    data.classes.forEach((its, q) => {
      if (its !== kind) return;
      n += 1;
      if (Number.isNaN(places[q])) return;
      const mark = `M${x(places[q]).toFixed(1)} ${y}v18`;
      if (pass(places[q])) { kept += mark; passed += 1; } else cut += mark;
    });
    const stroke = `var(--cal-${colour})`;
    svg.append(
      draw("path", { d: cut || "M0 0", stroke, class: "cal-cut" }),
      draw("path", { d: kept || "M0 0", stroke, class: "cal-kept" }),
      draw("text", { x: edge, y: y - 5, fill: stroke }, label),
      draw("text", { x: width - edge, y: y - 5, fill: stroke, "text-anchor": "end" },
        `${passed} of ${n} ${kind === "a" ? "kept" : "answered"}`),
    );
    if (selected !== null && data.classes[selected] === kind && !Number.isNaN(places[selected])) {
      svg.append(draw("circle", { class: "cal-selected", cx: x(places[selected]), cy: y + 9, r: 7 }));
    }
  });
  for (const tick of roundTicks(low, high, width < 480 ? 4 : 8)) {
    svg.append(draw("text", { class: "cal-tick", x: x(tick), y: bottom + 16, "text-anchor": "middle" }, short(tick)));
  }
  if (found.floor !== null) {
    const near = at < 60 ? "start" : at > width - 60 ? "end" : "middle";
    svg.append(
      draw("circle", { class: "cal-grip", cx: at, cy: bottom, r: 6 }),
      draw("text", { class: "cal-floor-name", x: at, y: top - 7, "text-anchor": near }, `floor ${short(found.floor)}`),
    );
  }
  return (offset) => low + ((offset - edge) / (width - 2 * edge)) * (high - low);
}

// ---- the page's part

function start(section, data, prefix) {
  data.similarity = doubles(data.similarity);
  data.best = doubles(data.best);
  data.classes = [...data.classes];
  const stops = [null, ...data.stops];
  const queryOf = new Map((data.place || data.ids.map((_, q) => q)).map((place, q) => [String(place), q]));
  const placeOf = new Map([...queryOf].map(([place, q]) => [q, place]));
  const recommended = decide(data, data.floor, data.k), usual = ratesOf(data, recommended);
  const now = { floor: data.floor, k: data.k, selected: null, value: () => 0, timer: 0 };

  const slider = make("input", { type: "range", id: `${prefix}-floor`, min: 0, max: stops.length - 1, step: 1 });
  const number = make("input", {
    type: "number", id: `${prefix}-exact`, step: "any", placeholder: "none", "aria-label": "Floor, exactly",
  });
  const cap = make("input", { type: "range", id: `${prefix}-k`, min: 1, max: data.kMax, step: 1 });
  const capShown = make("span", { class: "cal-value", "aria-hidden": "true" }); // the slider says it itself
  const back = make("button", { type: "button" }, "Back to the recommendation");
  const none = make("button", { type: "button" }, "No floor");
  const old = data.old === null ? [] : [make("button", { type: "button" }, `Old floor ${full(data.old)}`)];
  const bands = draw("svg", { "aria-hidden": "true", class: "cal-strip" });
  const said = make("p", { class: "cal-said", role: "status" });
  const cells = new Map();
  const rates = rateTable();
  const changed = make("div", { class: "cal-changes" });
  const failing = make("details", {}, make("summary", {}, "All failing queries at this setting"), make("div"));
  const panel = make("div", { class: "cal-query", tabindex: "-1", role: "group", "aria-label": "One query" });

  function rateTable() {
    const table = make("table", { class: "cal-table" }, make("caption", {}, "Rates at this floor and K"));
    const setting = `${data.floor === null ? "no floor" : short(data.floor)}, K = ${data.k}`;
    const heads = [["here"], ["recommended", make("span", { class: "cal-detail" }, setting)]];
    table.append(make("thead", {}, make("tr", {}, make("td"),
      ...heads.map((head) => make("th", { scope: "col", class: "cal-number" }, ...head)))));
    const body = make("tbody");
    for (const [name, brief, meaning] of data.rates) {
      const here = make("td", { class: "cal-number" }), usually = make("td", { class: "cal-number" });
      body.append(make("tr", { "data-rate": name },
        make("th", { scope: "row" }, brief, make("span", { class: "cal-detail" }, meaning)), here, usually));
      fill(usually, usual[name]);
      cells.set(name, here);
    }
    table.append(body);
    return make("div", { class: "cal-scroll", tabindex: "0", role: "group", "aria-label": "Rates at this floor and K" },
      table);
  }

  function fill(cell, [numerator, denominator]) {
    const detail = make("span", { class: "cal-detail" }, `${numerator} of ${denominator}`);
    if (denominator !== 0) detail.append(" ", make("span", {}, `[${interval(numerator, denominator, data.z)}]`));
    cell.replaceChildren(make("span", {}, denominator === 0 ? "–" : percent(numerator / denominator)), detail);
  }

  function named(queries) {
    const list = make("ul", { class: "cal-ids" });
    for (const q of queries.slice(0, MOST_NAMED)) list.append(make("li", {}, linkTo(q)));
    if (queries.length > MOST_NAMED) list.append(make("li", {}, `and ${queries.length - MOST_NAMED} more`));
    return list;
  }

  function linkTo(q) {
    const button = make("button", { type: "button", class: "cal-link" }, make("bdi", {}, data.ids[q]));
    button.addEventListener("click", () => select(q));
    return button;
  }

  function showChanges(found) {
    const groups = changes(data, recommended, found);
    const total = groups.reduce((sum, group) => sum + group.queries.length, 0);
    changed.replaceChildren(make("p", { class: "cal-lead" }, total === 0
      ? "No query changes side against the recommendation."
      : `${many(total, "query changes", "queries change")} side against the recommendation:`));
    for (const group of groups) {
      const n = group.queries.length;
      changed.append(make("div", { "data-change": group.key },
        make("p", {}, make("strong", {}, many(n, group.one, group.several))), named(group.queries)));
    }
    return total;
  }

  function showFailing(found) {
    if (!failing.open) return;
    const causes = new Map();
    data.classes.forEach((_, q) => {
      const cause = failure(data, found, q);
      if (cause !== null) causes.set(cause, [...(causes.get(cause) || []), q]);
    });
    const blocks = [...causes].map(([cause, queries]) => make("div", { "data-cause": cause },
      make("p", {}, make("strong", {}, `${queries.length.toLocaleString("en-US")} × ${cause}`)), named(queries)));
    failing.lastElementChild.replaceChildren(...(blocks.length ? blocks : [make("p", {}, "None.")]));
  }

  function showQuery(found) {
    const q = now.selected;
    panel.hidden = q === null;
    if (q === null) return;
    const pass = passes(data, found.floor), best = data.best[q][0];
    const what = failure(data, found, q) || (found.accepted[q] === 0 ? "gets nothing"
      : found.relevant[q] > 0 ? "keeps a relevant passage" : "is answered");
    const kind = data.kinds.length > 1 ? `, kind ${data.kinds[data.kind[q]]}` : "";
    const facts = [`${CLASS[data.classes[q]]}${kind}; here: ${what}.`];
    if (!Number.isNaN(best)) {
      facts.push(`Best relevant passage: ${short(best)}${data.bestRank[q] ? `, rank ${data.bestRank[q]}` : ""}` +
        (found.floor === null ? "."
          : `, ${short(Math.abs(best - found.floor))} ${best < found.floor ? "under" : "over"} the floor.`));
    }
    const rows = [];
    for (let rank = 0; rank < data.kMax && !Number.isNaN(data.similarity[q][rank]); rank += 1) {
      const similarity = data.similarity[q][rank];
      const here = !pass(similarity) ? "under the floor" : rank < found.k ? "accepted" : "beyond K";
      rows.push(make("tr", {}, make("th", { scope: "row", class: "cal-number" }, String(rank + 1)),
        make("td", { class: "cal-number" }, short(similarity)),
        make("td", {}, STATE[data.states[q * data.kMax + rank]]), make("td", {}, here)));
    }
    const heads = ["rank", "similarity", "judgement", "here"].map((head, i) =>
      make("th", { scope: "col", ...(i < 2 ? { class: "cal-number" } : {}) }, head));
    const table = make("table", { class: "cal-table" }, make("caption", {}, "Its passages"),
      make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
    const close = make("button", { type: "button" }, "Close");
    close.addEventListener("click", () => { select(null); slider.focus(); });
    const row = rowOf(q), actions = [close];
    if (row) {
      const there = make("button", { type: "button" }, "Show it among the failing queries");
      there.addEventListener("click", () => {
        row.scrollIntoView({ block: "center" });
        row.querySelector("button").focus({ preventScroll: true });
      });
      actions.unshift(there);
    }
    panel.replaceChildren(make("p", {}, make("strong", {}, "Query ", make("bdi", {}, data.ids[q]))),
      ...(data.texts && data.texts[q] ? [make("p", { class: "cal-text" }, make("bdi", {}, data.texts[q]))] : []),
      make("p", {}, facts.join(" ")),
      rows.length === 0 ? make("p", {}, "It got no passage at all.")
        : make("div", { class: "cal-scroll cal-few", tabindex: "0", role: "group", "aria-label": "Passages" }, table),
      make("p", { class: "cal-actions" }, ...actions));
  }

  function rowOf(q) {
    const cell = document.querySelector(`[data-query="${placeOf.get(q)}"]`);
    return cell === null ? null : cell.closest("tr");
  }

  function select(q) {
    document.querySelectorAll("tr.cal-here").forEach((row) => row.classList.remove("cal-here"));
    now.selected = q;
    show();
    if (q === null) return;
    const row = rowOf(q);
    if (row) row.classList.add("cal-here");
    panel.scrollIntoView({ block: "nearest" });
    panel.focus({ preventScroll: true });
  }

  function sentence(found, total) {
    const here = ratesOf(data, found);
    const parts = [`${found.floor === null ? "No floor" : `Floor ${full(found.floor)}`}, K = ${found.k}:`];
    const words = [["hit_rate", "answerable queries keep a relevant passage"],
      ["false_answer_rate_off_topic", "off-topic ones are answered"],
      ["false_answer_rate_probes", "probes are answered"],
      ["false_answer_rate_missing_answer", "ones without an answer are answered"]];
    const known = words.filter(([name]) => here[name][1] > 0)
      .map(([name, words]) => `${here[name][0]} of ${here[name][1]} ${words}`);
    return `${parts[0]} ${[...known, `${many(total, "query changes", "queries change")} side`].join("; ")}.`;
  }

  function nearestStop(floor) {
    let nearest = 0;
    if (floor === null) return nearest;
    stops.forEach((stop, i) => {
      if (i > 0 && (nearest === 0 || Math.abs(stop - floor) < Math.abs(stops[nearest] - floor))) nearest = i;
    });
    return nearest;
  }

  function show() {
    const found = decide(data, now.floor, now.k), here = ratesOf(data, found);
    slider.value = nearestStop(now.floor);
    slider.setAttribute("aria-valuetext", now.floor === null ? "no floor" : full(now.floor));
    if (document.activeElement !== number) number.value = now.floor === null ? "" : full(now.floor);
    cap.value = now.k;
    capShown.textContent = now.k;
    cells.forEach((cell, name) => fill(cell, here[name]));
    now.value = drawBands(bands, data, found, now.selected);
    const total = showChanges(found);
    showFailing(found);
    showQuery(found);
    clearTimeout(now.timer);
    // a screen reader hears the end of a movement, not each step of it
    const say = () => { said.textContent = sentence(found, total); };
    if (said.textContent === "") say();
    else now.timer = setTimeout(say, QUIET);
  }

  function move(floor, k) {
    now.floor = floor;
    now.k = k;
    show();
  }

  slider.addEventListener("input", () => move(stops[Number(slider.value)], now.k));
  cap.addEventListener("input", () => move(now.floor, Number(cap.value)));
  number.addEventListener("input", () => {
    if (number.validity.badInput) return;
    move(number.value === "" ? null : Number(number.value), now.k);
  });
  number.addEventListener("blur", show);
  back.addEventListener("click", () => move(data.floor, data.k));
  none.addEventListener("click", () => move(null, now.k));
  old.forEach((button) => button.addEventListener("click", () => move(data.old, now.k)));
  failing.addEventListener("toggle", show);
  const drag = (event) => {
    const value = now.value(event.clientX - bands.getBoundingClientRect().left);
    move(stops[nearestStop(value)], now.k);
  };
  bands.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    bands.setPointerCapture(event.pointerId);
    drag(event);
  });
  bands.addEventListener("pointermove", (event) => { if (bands.hasPointerCapture(event.pointerId)) drag(event); });

  const read = "Brackets: 95% Wilson intervals. Each is of a setting fixed beforehand; the best of many tried looks " +
    "better than it is.";
  const live = section.querySelector(".cal-live");
  live.replaceChildren(
    make("div", { class: "cal-controls" },
      make("div", { class: "cal-control" }, make("label", { for: slider.id }, "Floor"), slider, number),
      make("div", { class: "cal-control" }, make("label", { for: cap.id }, "K"), cap, capShown),
      make("div", { class: "cal-actions" }, back, none, ...old)),
    make("p", { class: "cal-hint" }, "Drag the line over the bands or the sliders; arrow keys move them by a step."),
    bands, said, rates, make("p", { class: "cal-note" }, read), changed, failing, panel);
  live.hidden = false;
  section.classList.add("cal-moves");
  document.querySelectorAll("[data-query]").forEach((cell) => {
    const q = queryOf.get(cell.dataset.query);
    if (q === undefined) return;
    const button = make("button", { type: "button", class: "cal-link", title: "Show it in the explorer" });
    button.append(...cell.childNodes);
    button.addEventListener("click", () => select(q));
    cell.replaceChildren(button);
  });
  show();
  const redraw = () => { now.value = drawBands(bands, data, decide(data, now.floor, now.k), now.selected); };
  new ResizeObserver(redraw).observe(live);
}

document.querySelectorAll("section.cal-explorer[data-explorer]").forEach((section, i) => {
  try {
    start(section, JSON.parse(section.dataset.explorer), `explorer-${i + 1}`);
  } catch {
    section.dataset.explorer = ""; // data that are none leave the table as it stands
  }
});
})();
