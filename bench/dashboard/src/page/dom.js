// Makes elements. Texts become text nodes, never markup: they come from files.

// element("a", { href, class }, child, ...): children are nodes, texts, lists of them, or nothing
// (null, false). A property that is null or false is left out; on... properties are listeners.
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  fill(made, ...children);
  return made;
}

// Replaces what is in an element.
export function fill(parent, ...children) {
  const wanted = children.flat(Infinity).filter((child) => child !== null && child !== false);
  parent.replaceChildren(...wanted);
}

export function table(caption, head, rows) {
  const cells = (row) =>
    row.map((cell, index) => element(index ? "td" : "th", index ? {} : { scope: "row" }, cell));
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    element(
      "table",
      {},
      element("caption", { class: "hidden" }, caption),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          head.map((cell) => element("th", { scope: "col" }, cell)),
        ),
      ),
      element(
        "tbody",
        {},
        rows.map((row) => element("tr", {}, cells(row))),
      ),
    ),
  );
}
