"use strict";
(() => {
  const make = (tag, props) => Object.assign(document.createElement(tag), props);
  // Numbers by their exact value, texts as people order them; what is not known comes last either way.
  const key = (row, col) => {
    const c = row.cells[col];
    if (!c) return null;
    if (c.dataset.v !== undefined) return Number(c.dataset.v);
    const t = c.textContent.trim();
    return t === "" || t === "–" ? null : t;
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === typeof b) return a.localeCompare(b, "en", { numeric: true });
    return typeof a === "number" ? -1 : 1;
  };
  const sort = (table, th, col) => {
    const up = th.getAttribute("aria-sort") === "descending";
    for (const o of table.tHead.rows[0].cells) {
      o.removeAttribute("aria-sort");
      o.querySelector("button").textContent = "↕";
    }
    th.setAttribute("aria-sort", up ? "ascending" : "descending");
    th.querySelector("button").textContent = up ? "▲" : "▼";
    const body = table.tBodies[0];
    const rows = [...body.rows].map((r, i) => ({ r, i, k: key(r, col) }));
    rows.sort((a, b) => {
      if (a.k === null || b.k === null) return (a.k === null) - (b.k === null) || a.i - b.i;
      return (up ? compare(a.k, b.k) : compare(b.k, a.k)) || a.i - b.i;
    });
    body.append(...rows.map((x) => x.r));
  };
  const filter = (table, box) => {
    const caption = table.caption.textContent;
    const rows = table.tBodies[0].rows;
    const bar = make("div", { className: "tools" });
    const label = make("label", { textContent: "Filter " });
    const input = make("input", { type: "search", autocomplete: "off" });
    input.setAttribute("aria-label", "Filter rows of " + caption);
    const told = make("span", { textContent: rows.length + " rows" });
    told.setAttribute("role", "status");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const r of rows) {
        const text = [...r.cells].map((c) => c.textContent).join("\t").toLowerCase();
        r.hidden = !words.every((w) => text.includes(w));
        shown += !r.hidden;
      }
      told.textContent = words.length ? shown + " of " + rows.length + " rows" : rows.length + " rows";
    });
    label.append(input);
    // In one line with what the table is called. The caption stays for those who hear it, and on paper.
    const title = make("b", { textContent: caption });
    title.setAttribute("aria-hidden", "true");
    table.caption.classList.add("aside");
    bar.append(title, label, told);
    box.prepend(bar);
  };
  for (const table of document.querySelectorAll("table[data-t]")) {
    if (table.tBodies[0].rows.length < 2) continue;
    [...table.tHead.rows[0].cells].forEach((th, col) => {
      const b = make("button", { type: "button", textContent: "↕" });
      b.setAttribute("aria-label", "Sort by " + (th.textContent || "this column"));
      b.addEventListener("click", () => sort(table, th, col));
      th.append(" ", b);
    });
    if (table.tBodies[0].rows.length > 7) filter(table, table.closest(".box"));
  }
  // Definitions where they are asked for. Without this, or with a modifier, the link leads to the glossary.
  const pop = make("div", { id: "pop" });
  if (!pop.showPopover) return;
  pop.setAttribute("popover", "");
  pop.setAttribute("role", "dialog");
  pop.setAttribute("aria-label", "Definition");
  pop.tabIndex = -1;
  document.body.append(pop);
  let from = null;
  const clean = (node) => {
    const copy = node.cloneNode(true);
    for (const e of [copy, ...copy.querySelectorAll("[id]")]) e.removeAttribute("id");
    return copy;
  };
  document.addEventListener("click", (e) => {
    const a = e.target.closest && e.target.closest("a.w");
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey) return;
    const at = document.getElementById(a.hash.slice(1));
    if (!at) return;
    e.preventDefault();
    const def = at.closest(".def");
    const more = make("a", { href: a.hash, textContent: "All words and numbers" });
    more.addEventListener("click", () => {
      from = null;
      pop.hidePopover();
    });
    const shut = make("button", { type: "button", textContent: "Close" });
    shut.addEventListener("click", () => pop.hidePopover());
    const list = make("dl", {});
    list.append(clean(def || at));
    const foot = make("p", {});
    foot.append(shut, " ", more);
    pop.replaceChildren(def ? list : clean(at), foot);
    from = a;
    pop.showPopover();
    pop.scrollTop = 0;
    pop.focus();
  });
  pop.addEventListener("toggle", (e) => {
    if (e.newState === "closed" && from) from.focus();
  });
})();
