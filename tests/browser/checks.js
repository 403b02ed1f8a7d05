// What looks at a page from within. Each check returns a list of faults.
window.B = (() => {
  const all = (s, of = document) => [...of.querySelectorAll(s)];
  const name = (e) => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + " " + (e.textContent || "").trim().slice(0, 50);
  const shown = (e) => e.checkVisibility({ checkVisibilityCSS: true }) && e.getClientRects().length > 0;
  const openAll = () => all("details").forEach((d) => (d.open = true));

  const form = () => {
    const out = [];
    for (const [s, n] of [["h1", 1], ["main", 1], ["header", 1], ["footer", 1], ["nav", 1], ["title", 1]])
      if (all(s).length !== n) out.push(all(s).length + " " + s);
    if (!document.documentElement.lang) out.push("no language");
    let before = 0;
    for (const h of all("h1,h2,h3,h4,h5,h6")) {
      const l = +h.tagName[1];
      if (l > before + 1) out.push("h" + l + " below h" + before + ": " + name(h));
      before = l;
    }
    const ids = new Set();
    for (const e of all("[id]")) {
      if (ids.has(e.id)) out.push("twice: " + e.id);
      ids.add(e.id);
    }
    for (const a of all("a[href]")) {
      const to = a.getAttribute("href");
      if (!to.startsWith("#") || !ids.has(to.slice(1))) out.push("leads nowhere: " + to);
      if (!a.textContent.trim()) out.push("a link without words: " + to);
    }
    for (const t of all("table")) {
      if (!t.caption || !t.caption.textContent.trim()) out.push("no caption: " + name(t));
      for (const h of all("th", t)) if (!h.scope) out.push("no scope: " + name(h));
    }
    for (const s of all("svg")) if (s.getAttribute("aria-hidden") !== "true" && !s.getAttribute("aria-label")) out.push("no name: svg");
    for (const b of all("button,input,[role=group],[role=status]")) {
      const by = b.getAttribute("aria-labelledby");
      const named = b.getAttribute("aria-label") || (by && ids.has(by)) || b.closest("label") || b.textContent.trim() || b.getAttribute("role") === "status";
      if (!named) out.push("no name: " + name(b));
    }
    return out;
  };

  const overflow = () => {
    openAll();
    const d = document.documentElement;
    return d.scrollWidth - d.clientWidth;
  };

  // Colours: "rgb(1, 2, 3)", "rgba(1, 2, 3, 0.5)", "color(srgb 0.1 0.2 0.3 / 0.5)".
  const color = (text) => {
    const n = (text.match(/[\d.]+/g) || []).map(Number);
    const unit = text.startsWith("color(") ? 255 : 1;
    return { r: n[0] * unit, g: n[1] * unit, b: n[2] * unit, a: n.length > 3 ? n[3] : 1 };
  };
  const over = (top, below) => {
    const mix = (t, b) => t * top.a + b * (1 - top.a);
    return { r: mix(top.r, below.r), g: mix(top.g, below.g), b: mix(top.b, below.b), a: 1 };
  };
  const light = (c) => {
    const f = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * f(c.r) + 0.7152 * f(c.g) + 0.0722 * f(c.b);
  };
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const ground = (e) => {
    const svg = e.closest("svg");
    // The first shape of a figure is its paper.
    const sheet = svg && svg.querySelector("path,rect");
    if (sheet && e !== svg) return color(getComputedStyle(sheet).fill);
    const layers = [];
    for (let n = e; n; n = n.parentElement) {
      const c = color(getComputedStyle(n).backgroundColor);
      if (c.a > 0) layers.push(c);
      if (c.a === 1) break;
    }
    const root = matchMedia("print").matches ? { r: 255, g: 255, b: 255, a: 1 } : color(getComputedStyle(document.body).backgroundColor);
    return layers.reverse().reduce((below, top) => over(top, below), root.a ? root : { r: 255, g: 255, b: 255, a: 1 });
  };
  const texts = () => {
    openAll();
    const out = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const e = walk.currentNode.parentElement;
      if (walk.currentNode.textContent.trim() && !e.closest("script,style") && shown(e)) out.push(e);
    }
    return [...new Set(out)];
  };
  const contrast = () => {
    const out = [];
    for (const e of texts()) {
      const s = getComputedStyle(e);
      const on = ground(e);
      const ink = over(color(e.closest("svg") ? s.fill : s.color), on);
      const r = ratio(ink, on);
      if (!(r >= 4.5)) out.push(r.toFixed(2) + " " + name(e));
    }
    return out;
  };

  let wanted, reached, blind;
  const begin = () => {
    openAll();
    const focusable = "a[href],button,input,summary,select,textarea,[tabindex='0']";
    // Of radio buttons one is a stop; arrows lead to the others.
    const radio = (e) => e.type === "radio" && !e.checked;
    wanted = all(focusable).filter((e) => shown(e) && !radio(e));
    reached = new Set();
    blind = [];
    document.activeElement.blur();
    getSelection().removeAllRanges();
    scrollTo(0, 0);
    return wanted.length;
  };
  const step = () => {
    const e = document.activeElement;
    if (!e || e === document.body || reached.has(e)) return "end";
    reached.add(e);
    const s = getComputedStyle(e);
    if (s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 2) blind.push(name(e));
    return e.className === "skip" ? "skip" : "on";
  };
  const unreached = () => wanted.filter((e) => !reached.has(e)).map(name);
  const unseen = () => blind;

  const sortable = () => all("table").filter((t) => t.querySelector("thead button"));
  const value = (c) => {
    if (c.dataset.v !== undefined) return Number(c.dataset.v);
    const t = c.textContent.trim();
    return t === "–" || t === "" ? null : t;
  };
  const sorts = () => {
    const out = [];
    for (const t of sortable().slice(0, 12)) {
      const heads = [...t.tHead.rows[0].cells];
      const content = () => [...t.tBodies[0].rows].map((r) => r.textContent).sort().join();
      const before = content();
      heads.forEach((h, col) => {
        const b = h.querySelector("button");
        for (let n = 0; n < 2; n++) {
          b.click();
          const dir = h.getAttribute("aria-sort");
          const marked = heads.filter((o) => o.getAttribute("aria-sort")).length;
          if (marked !== 1 || !["ascending", "descending"].includes(dir)) out.push("aria-sort of " + name(h));
          const v = [...t.tBodies[0].rows].map((r) => value(r.cells[col]));
          const known = v.filter((x) => x !== null);
          if (v.slice(0, known.length).includes(null)) out.push("what is not known is not last: " + name(h));
          const sign = dir === "ascending" ? 1 : -1;
          for (let i = 1; i < known.length; i++) {
            const [x, y] = [known[i - 1], known[i]];
            if (typeof x === "number" && typeof y === "number" && (x - y) * sign > 0) out.push(name(t) + " by " + name(h) + " " + dir + ": " + x + " before " + y);
          }
        }
      });
      if (content() !== before) out.push("rows were lost: " + name(t));
    }
    return out;
  };

  const filters = () => all(".tools input");
  let word;
  const prepare = () => {
    openAll();
    const i = filters()[0];
    const t = i.closest(".box").querySelector("table");
    word = t.tBodies[0].rows[t.tBodies[0].rows.length - 1].cells[0].textContent.trim();
    i.focus();
    return word;
  };
  const filtered = () => {
    const out = [];
    const i = filters()[0];
    const box = i.closest(".box");
    const rows = [...box.querySelector("table").tBodies[0].rows];
    let seen = 0;
    for (const r of rows) {
      const has = word.toLowerCase().split(/\s+/).every((w) => r.textContent.toLowerCase().includes(w));
      if (shown(r) !== has) out.push((has ? "hidden: " : "shown: ") + name(r));
      seen += has;
    }
    if (i.value !== word) out.push("typed " + i.value);
    if (!seen) out.push("nothing is left");
    const told = box.querySelector("[role=status]").textContent;
    if (told !== seen + " of " + rows.length + " rows") out.push("it says " + told);
    i.value = "";
    i.dispatchEvent(new Event("input", { bubbles: true }));
    if (rows.some((r) => r.hidden)) out.push("rows stay hidden");
    return out;
  };

  const popped = () => {
    const p = document.getElementById("pop");
    return !!p && p.matches(":popover-open") && p.textContent.trim().length > 30;
  };
  const moves = () => all("*").filter((e) => {
    const s = getComputedStyle(e);
    return s.scrollBehavior === "smooth" || s.animationName !== "none" || (s.transitionDuration !== "0s" && s.transitionDuration !== "");
  }).map(name);

  const paper = () => {
    const out = [];
    openAll();
    for (const e of all("nav,.skip,.tools,th button,.colors")) if (shown(e)) out.push("printed: " + name(e));
    for (const e of all("h1,h2,h3,caption,figure,article,dd")) if (!shown(e) && !e.closest("#pop")) out.push("not printed: " + name(e));
    for (const e of all("h1,p,td,figure text").slice(0, 400)) {
      const s = getComputedStyle(e);
      if (light(color(e.closest("svg") ? s.fill : s.color)) > 0.4) out.push("pale on paper: " + name(e));
      if (light(ground(e)) < 0.8) out.push("dark paper: " + name(e));
    }
    return out;
  };

  const hidden = () => all("main *").filter((e) => e.hidden || (!e.closest("details") && getComputedStyle(e).display === "none")).map(name);
  const leads = () => all("a.w").filter((a) => !document.getElementById(a.hash.slice(1))).map(name);
  // The words of the page, its tables in the order in which they were written.
  const told = () => {
    const copy = document.body.cloneNode(true);
    all("script,style,.tools,th button,#pop", copy).forEach((e) => e.remove());
    for (const b of all("tbody", copy)) {
      const rows = [...b.rows].sort((x, y) => (x.textContent < y.textContent ? -1 : 1));
      b.append(...rows);
    }
    return copy.textContent.replace(/\s+/g, " ").trim();
  };
  return { form, overflow, texts, contrast, begin, step, unreached, unseen, sortable, sorts, filters, prepare, filtered, popped, moves, paper, hidden, leads, told };
})();
true;
