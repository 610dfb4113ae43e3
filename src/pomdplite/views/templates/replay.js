"use strict";
(() => {
  const episode = JSON.parse(document.getElementById("episode").textContent);
  const part = (name, within = document) => within.querySelector(`[data-part="${name}"]`);
  const [slider, where, spoken, parted] = ["slider", "where", "spoken", "parted"].map(name => part(name));
  const lanes = [...document.querySelectorAll(".lane")];
  const steps = Math.max(...episode.lanes.map(frames => frames.length)) - 1;
  const play = document.querySelector('[data-go="play"]');
  let step = 0, timer = null;

  // Elements; texts are never parsed as HTML.
  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "style") Object.entries(value).forEach(([key, set]) => made.style.setProperty(key, set));
      else made.setAttribute(name, value);
    }
    made.append(...children.filter(child => child !== null && child !== undefined));
    return made;
  };
  const drawn = (tag, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    return made;
  };
  const number = (value, digits = 4) => {
    if (value === null) return "–";
    const size = Math.abs(value);
    const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : String(+value.toPrecision(digits));
    return text.replace("-", "−");
  };
  const share = value => value > 0 && value < .001 ? "<0.1 %" : value < 1 && value > .999 ? ">99.9 %" : `${(100 * value).toFixed(1)} %`;
  const percent = value => `${(100 * Math.min(1, Math.max(0, value))).toFixed(2)}%`;

  // The state
  const world = (frame, before) => {
    const parts = [];
    if (frame.camera !== null) parts.push(element("img", { src: episode.pictures[frame.camera], alt: "camera image" }));
    if (frame.picture !== undefined)
      parts.push(element("img", { src: episode.pictures[frame.picture], alt: "the state and the belief, as the model draws them", class: "painting" }));
    if (frame.drawing !== undefined) parts.push(element("pre", { tabindex: 0, "aria-label": "drawing of the state" }, frame.drawing));
    if (frame.fields !== undefined) parts.push(...fields(frame.fields, before && before.fields));
    return parts;
  };
  const fields = (rows, before) => {
    if (!rows.length) return [element("p", { class: "note" }, "The model has no observed state.")];
    const lines = rows.map(([name, value], i) => element("tr", {}, element("th", { scope: "row" }, name),
      element("td", before && before[i] && before[i][1] !== value ? { class: "new" } : {}, value)));
    return [element("h3", { style: { "justify-self": "start" } }, "State"), element("table", {}, element("tbody", {}, ...lines))];
  };

  // The decision and what came of it
  const outcome = frame => {
    const pairs = frame.end !== undefined
      ? [["end", frame.end], ["return", number(frame.total)]]
      : [["action", frame.action], ["observation", frame.observation], ["reward", number(frame.reward)],
         ["return after it", number(frame.total)]];
    const list = element("dl", {}, ...pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
    if (frame.end !== undefined) return [list];
    const notes = frame.notes.map(note => element("p", { class: "note" }, note));
    return [list, line(frame), ...notes];
  };
  const line = frame => frame.line.length
    ? element("div", { class: "line" }, "Expected actions", element("ol", {}, ...frame.line.map(name => element("li", {}, name))))
    : element("p", { class: "note" }, "This planner gives no principal line.");
  const values = (frame, split) => {
    const heading = element("h3", {}, "Value of each action");
    if (frame.end !== undefined) return [heading, element("p", { class: "note" }, "Nothing is left to decide.")];
    if (!frame.values.length) return [heading, element("p", { class: "note" }, "This planner gives no action values here.")];
    const digits = Math.max(...frame.values.map(([, q]) => Math.abs(q))) < 1000 ? 2 : 0;
    const fixed = value => value.toFixed(digits).replace("-", "−");
    const ends = frame.values.flatMap(([, q, reward]) => split ? [q, reward] : [q]);
    const low = Math.min(0, ...ends), high = Math.max(0, ...ends), span = high - low || 1;
    const at = value => percent((value - low) / span);
    const between = (one, other, name) => element("i", { class: name, style: {
      left: at(Math.min(one, other)), width: percent(Math.abs(one - other) / span) } });
    const rows = frame.values.flatMap(([name, q, reward, bonus], i) => {
      const chosen = i === frame.chosen ? " chosen" : "";
      const bar = element("div", { class: split ? "bar split" : "bar", title: split
        ? `Q ${fixed(q)} = reward ${fixed(reward)} + bonus ${fixed(bonus)}` : `Q ${fixed(q)}` },
        element("i", { class: "nought", style: { left: at(0) } }),
        between(0, split ? reward : q, "reward c0"), split ? between(reward, q, "bonus c4") : null,
        split ? element("i", { class: "q", style: { left: at(q) } }) : null);
      return [element("div", { class: `name${chosen}` }, (chosen ? "▸ " : "") + name), bar,
        element("div", { class: `number${chosen}` }, fixed(q))];
    });
    const more = frame.known - frame.values.length, untried = frame.legal - frame.known;
    const rest = [more > 0 ? `${more} more with lower values` : "", untried > 0 ? `${untried} without a value` : ""].filter(Boolean);
    return [heading, element("div", { class: "rows" }, ...rows),
      split ? element("p", { class: "legend" }, key("c0", "expected reward"), key("c4", "exploration bonus"),
        element("span", { class: "mark" }, "Q, their sum")) : null,
      element("p", { class: "note" }, [...rest, frame.effort].join("; "))];
  };
  const key = (colour, text) => element("span", { style: { "--key": getComputedStyle(probe(colour)).color } }, text);
  const probes = {};
  const probe = colour => probes[colour] ??= document.body.appendChild(element("i", { class: colour, hidden: "" }));

  // The belief
  const belief = frame => {
    const known = frame.truth !== undefined, boxed = episode.panels.every(panel => panel.kind === "heat");
    const panels = episode.panels.map((panel, i) => element("div", { class: "panel" }, element("h3", {}, panel.title),
      ...kinds[panel.kind](panel, frame.belief[i], known ? frame.truth[i] : null)));
    return [element("h3", {}, "Belief"), ...panels,
      known ? element("p", { class: "legend" }, element("span", { class: boxed ? "truth boxed" : "truth" }, "hidden value")) : null];
  };
  const probability = (name, p, mark, after) => [element("div", { class: "name" }, name, after),
    element("div", { class: "bar c0" }, element("i", { style: { left: "0%", width: percent(p) } }), mark),
    element("div", { class: "number" }, share(p))];
  const strip = (panel, numbers, truth) => {
    const at = value => percent((value - panel.low) / (panel.high - panel.low));
    const [mean, low, high] = numbers;
    return element("div", { class: "strip c0" },
      low === undefined ? null : element("i", { style: { left: at(low), width: percent((high - low) / (panel.high - panel.low)) } }),
      element("i", { class: "mean", style: { left: at(mean) } }),
      truth === null ? null : element("i", { class: "true", style: { left: at(truth) } }));
  };
  const ends = (...texts) => element("div", { class: "ends" }, ...texts.map(text => element("span", {}, text)));
  const likeliest = (names, numbers) => numbers.map((p, i) => [p, names[i]]).sort((one, other) => other[0] - one[0]).slice(0, 3)
    .map(([p, name]) => `${name} ${share(p)}`).join(", ");
  const kinds = {
    bars: (panel, numbers, truth) => [element("div", { class: "rows" }, ...panel.rows.flatMap((name, i) =>
      probability(name, numbers[i], null, i === truth ? element("i", { class: "diamond", title: "hidden value" }) : null)))],
    shares: (panel, numbers, truth) => [element("div", { class: "rows" }, ...panel.rows.flatMap((name, i) =>
      probability(name, numbers[i], truth === null || truth[i] === null ? null
        : element("i", { class: "true", style: { left: percent(truth[i]) } }))))],
    columns: (panel, numbers, truth) => {
      const top = Math.max(...numbers), best = numbers.indexOf(top);
      const chart = drawn("svg", { viewBox: `0 0 ${numbers.length} 100`, preserveAspectRatio: "none", class: "chart c0", role: "img",
        "aria-label": `likeliest: ${panel.rows[best]}, ${share(top)}` });
      numbers.forEach((p, i) => p > 0 && chart.append(drawn("rect", { x: i, width: 1, y: 100 - 96 * p / top, height: 96 * p / top })));
      const mark = truth === null ? null : element("div", { class: "strip truth" },
        element("i", { class: "true", style: { left: percent((truth + .5) / numbers.length) } }));
      return [chart, mark, ends(panel.rows[0], `likeliest ${panel.rows[best]}: ${share(top)}`, panel.rows[panel.rows.length - 1])];
    },
    heat: (panel, numbers, truth) => {
      const top = Math.max(...numbers), best = numbers.indexOf(top), named = panel.rows.length > 0;
      const name = i => named ? panel.rows[i] : `number ${i}`, size = named ? share : number;
      const hit = i => Array.isArray(truth) ? truth[i] > .5 : truth === i;
      const cells = numbers.map((p, i) => element("i", { style: { "--p": top > 0 ? p / top : 0 }, title: `${name(i)}: ${size(p)}`,
        ...(hit(i) ? { class: "true" } : {}) }));
      return [element("div", { class: "heat c0", role: "img", "aria-label": `largest: ${name(best)}, ${size(top)}`,
        style: { "grid-template-columns": `repeat(${panel.columns}, minmax(0, 1fr))` } }, ...cells),
        element("p", { class: "note" }, named ? `likeliest: ${likeliest(panel.rows, numbers)}` : `full colour: ${size(top)}`)];
    },
    interval: (panel, numbers, truth) => [strip(panel, numbers, truth === null ? null : truth[0]),
      ends(number(panel.low, 3), `${number(numbers[0], 3)} (${number(numbers[1], 3)} … ${number(numbers[2], 3)})`, number(panel.high, 3))],
    means: (panel, numbers, truth) => numbers.flatMap((mean, i) => [strip(panel, [mean], truth === null ? null : truth[i]),
      ends(number(panel.low, 3), `${panel.rows[i]}: ${number(mean)}`, number(panel.high, 3))]),
  };

  // The returns so far, above the slider
  const returns = part("returns");
  const across = t => steps ? 1000 * t / steps : 0;
  const totals = episode.lanes.map(frames => frames.map((_, t) => t ? frames[t - 1].total ?? 0 : 0));
  const all = [0, ...totals.flat()], least = Math.min(...all), most = Math.max(...all);
  const up = value => 96 - 92 * (value - least) / (most - least || 1);
  returns.appendChild(drawn("title", {})).textContent = "Discounted return so far";
  returns.append(drawn("line", { class: "zero", x1: 0, x2: 1000, y1: up(0), y2: up(0) }));
  totals.forEach((line, i) => returns.append(drawn("polyline", { class: `c${i % 8}`, points: line.map((v, t) => `${across(t)},${up(v)}`).join(" ") })));
  if (episode.parted !== null) returns.append(drawn("line", { class: "fork", x1: across(episode.parted), x2: across(episode.parted), y1: 0, y2: 100 }));
  const cursor = returns.appendChild(drawn("line", { class: "cursor", y1: 0, y2: 100 }));
  returns.setAttribute("aria-label", episode.planners.map((name, i) => `discounted return of ${name}: ${number(totals[i].at(-1) ?? 0)} at the end`).join("; "));

  // Moving through the steps
  const title = t => t === steps ? "End" : `Step ${t + 1} of ${steps}`;
  const show = (t, link = true) => {
    step = Math.min(steps, Math.max(0, t));
    slider.value = step;
    where.textContent = title(step);
    slider.setAttribute("aria-valuetext", title(step));
    cursor.setAttribute("x1", across(step));
    cursor.setAttribute("x2", across(step));
    const said = [];
    lanes.forEach((lane, i) => {
      const frames = episode.lanes[i], at = Math.min(step, frames.length - 1), frame = frames[at];
      if (!frame) return;
      part("world", lane).classList.toggle("paper", frame.picture !== undefined);
      part("world", lane).replaceChildren(...world(frame, frames[at - 1]));
      part("outcome", lane).replaceChildren(...outcome(frame).filter(Boolean));
      part("values", lane).replaceChildren(...values(frame, episode.bonus[i]).filter(Boolean));
      part("belief", lane).replaceChildren(...belief(frame).filter(Boolean));
      lane.classList.toggle("forks", episode.parted === step);
      said.push(frame.end ?? `${frame.action}, observed ${frame.observation}, reward ${number(frame.reward)}`);
    });
    if (timer === null) spoken.textContent = `${title(step)}: ${said.join("; ")}`;
    if (link) history.replaceState(null, "", `#step=${step === steps ? "end" : step + 1}`);
    if (step === steps) stop();
  };
  const stop = () => {
    clearTimeout(timer);
    timer = null;
    play.setAttribute("aria-pressed", "false");
    play.setAttribute("aria-label", "Play");
  };
  const tick = () => {
    timer = setTimeout(() => {
      if (step >= steps) return stop();
      show(step + 1);
      if (timer !== null) tick();
    }, Number(part("speed").value));
  };
  const toggle = () => {
    if (timer !== null) return stop();
    if (step >= steps) show(0);
    play.setAttribute("aria-pressed", "true");
    play.setAttribute("aria-label", "Pause");
    tick();
  };
  const go = { first: () => show(0), back: () => show(step - 1), play: toggle, on: () => show(step + 1), last: () => show(steps) };
  const follow = () => {
    const found = /^#step=(\d+|end)$/.exec(location.hash);
    show(!found ? 0 : found[1] === "end" ? steps : Number(found[1]) - 1, false);
  };

  slider.max = steps;
  slider.addEventListener("input", () => show(Number(slider.value)));
  Object.keys(go).forEach(name => document.querySelector(`[data-go="${name}"]`).addEventListener("click", go[name]));
  returns.addEventListener("click", event => {
    const box = returns.getBoundingClientRect();
    show(Math.round(steps * (event.clientX - box.left) / box.width));
  });
  const keys = { ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last", " ": "play" };
  document.addEventListener("keydown", event => {
    const within = event.target.closest("select, button");
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (within && (event.key === " " || within.matches("select"))) return;
    event.preventDefault();
    go[keys[event.key]]();
  });
  window.addEventListener("hashchange", follow);

  const truth = part("truth");
  truth.hidden = !episode.lanes.some(frames => frames.some(frame => frame.truth !== undefined));
  truth.addEventListener("click", () => {
    const hidden = document.body.classList.toggle("hide-truth");
    truth.setAttribute("aria-pressed", String(!hidden));
  });
  const themes = ["auto", "light", "dark"], theme = part("theme");
  theme.addEventListener("click", () => {
    themes.push(themes.shift());
    document.documentElement.style.colorScheme = themes[0] === "auto" ? "" : themes[0];
    theme.textContent = `Theme: ${themes[0]}`;
    show(step, false);
  });

  if (episode.parted !== null) {
    const jump = element("button", { type: "button" }, `Go to step ${episode.parted + 1}`);
    jump.addEventListener("click", () => show(episode.parted));
    const did = episode.planners.map((name, i) => `${name}: ${episode.lanes[i][episode.parted]?.action ?? "has ended"}`).join(", ");
    parted.append(`The planners part at step ${episode.parted + 1} (${did}). All meet the same hidden value and the same random numbers.`, jump);
    parted.hidden = false;
  } else if (episode.lanes.length > 1) {
    parted.append("The planners do the same in every step shown, on the same hidden value and the same random numbers.");
    parted.hidden = false;
  }
  follow();
})();
