// The filters: name, machine, every key of the names that has several values, and "changed only".
// These are native form controls. Each change calls `changed` with a function that says whether a
// series is shown.
import { element, fill } from "./dom.js";
import { keyName, keyValue } from "./format.js";

function select(id, name, values, textOf) {
  const options = [
    element("option", { value: "" }, "all"),
    values.map((value, index) => element("option", { value: index + 1 }, textOf(value))),
  ];
  return element("label", { for: id }, name, element("select", { id, name: id }, options.flat()));
}

export function makeFilters(form, data, changed) {
  const machines = [...new Set(data.series.map(({ machine }) => machine))];
  const selects = [
    ...data.filters.map(({ key, values }) => ({
      id: `filter-${key}`,
      name: keyName(key),
      values,
      textOf: (value) => keyValue(key, value),
      of: ({ keys }) => keys[key],
    })),
    {
      id: "machine",
      name: "Machine",
      values: machines,
      textOf: (value) => value,
      of: ({ machine }) => machine,
    },
  ];
  const search = element("input", {
    type: "search",
    id: "name",
    autocomplete: "off",
    spellcheck: "false",
  });
  const only = element("input", { type: "checkbox", id: "only-regressions" });
  fill(
    form,
    element("label", { for: "name", class: "wide" }, "Name contains", search),
    selects.map(({ id, name, values, textOf }) => select(id, name, values, textOf)),
    element("label", { for: "only-regressions", class: "check" }, only, "Only with regressions"),
    element("button", { type: "reset" }, "Show all"),
  );

  const notify = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = selects
      .map(({ id, values, of }) => ({ value: values[form.elements[id].value - 1], of }))
      .filter(({ value }) => value !== undefined);
    changed((series) => {
      const name = series.name.toLowerCase();
      if (only.checked && !series.worse) return false;
      return (
        words.every((word) => name.includes(word)) &&
        wanted.every(({ value, of }) => of(series) === value)
      );
    });
  };
  form.addEventListener("input", notify);
  form.addEventListener("submit", (event) => event.preventDefault());
  // The controls keep their old values until the event is over.
  form.addEventListener("reset", () => setTimeout(notify));
  notify();
}
