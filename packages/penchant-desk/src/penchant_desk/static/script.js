// Orders a list by dragging and by its arrows, without asking the server for every step. Without this script the
// arrows are buttons of a form, and do the same one step at a time.
"use strict";

for (const list of document.querySelectorAll("[data-order]")) {
  const form = list.closest("form");
  const told = form.querySelector("[data-told]");
  let held = null;

  document.documentElement.classList.add("scripted");
  for (const hint of form.querySelectorAll("[data-scripted]")) hint.hidden = false;

  const name = (item) => item.querySelector(".what").textContent.trim().slice(0, 80);
  const place = (item) => [...list.children].indexOf(item) + list.start;

  // The server goes by the places in the form, so they follow the order.
  const renumber = () => {
    const items = [...list.children];
    items.forEach((item, number) => {
      for (const button of item.querySelectorAll(".steps button")) button.value = number;
      const wholeList = !form.querySelector("nav.pages");
      for (const each of ["up", "first"]) item.querySelector(`[name=${each}]`).disabled = list.start === 1 && number === 0;
      item.querySelector("[name=down]").disabled = wholeList && number === items.length - 1;
    });
  };

  const tell = (item) => {
    renumber();
    told.textContent = `${name(item)}: now number ${place(item)}. Not saved yet.`;
  };

  const step = (item, way) => {
    // The neighbour passes it, since it keeps the focus only where it stays.
    if (way === "up" && item.previousElementSibling) item.after(item.previousElementSibling);
    else if (way === "down" && item.nextElementSibling) item.before(item.nextElementSibling);
    else if (way === "first" && list.start === 1) list.prepend(item);
    else return false;
    tell(item);
    return true;
  };

  list.addEventListener("click", (event) => {
    const button = event.target.closest(".steps button");
    if (!button || !["up", "down", "first"].includes(button.name)) return;
    const item = button.closest("li");
    if (!step(item, button.name)) return; // past this part of the list: the server does it
    event.preventDefault();
    const next = button.disabled ? item.querySelector(".steps button:not(:disabled)") : button;
    next.focus();
  });

  list.addEventListener("keydown", (event) => {
    const ways = { ArrowUp: "up", ArrowDown: "down" };
    const item = event.target.closest("li");
    if (!item || !event.altKey || !(event.key in ways)) return;
    event.preventDefault();
    const focused = document.activeElement;
    if (step(item, ways[event.key])) (focused.disabled ? item.querySelector("button:not(:disabled)") : focused).focus();
  });

  list.addEventListener("pointerdown", (event) => {
    const grip = event.target.closest("[data-grip]");
    if (!grip || event.button !== 0) return;
    event.preventDefault();
    held = grip.closest("li");
    held.classList.add("held");
    grip.setPointerCapture(event.pointerId);
  });

  // What is held stays where it is in the document, and the others pass it: it would lose the pointer otherwise.
  list.addEventListener("pointermove", (event) => {
    if (!held) return;
    const middle = (item) => item.getBoundingClientRect().top + item.offsetHeight / 2;
    while (held.nextElementSibling && event.clientY > middle(held.nextElementSibling)) held.before(held.nextElementSibling);
    while (held.previousElementSibling && event.clientY < middle(held.previousElementSibling)) held.after(held.previousElementSibling);
  });

  const release = () => {
    if (!held) return;
    held.classList.remove("held");
    tell(held);
    held = null;
  };
  list.addEventListener("pointerup", release);
  list.addEventListener("pointercancel", release);
}

// Returns what is at an address; null where another one was asked for meanwhile, the page was left, or no answer came.
const textOf = (address, options) => fetch(address, options).then((answer) => answer.text()).catch(() => null);

// Says moments in the zone of the browser: those of the page, and those of fields, whose form then says so.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const inZone = (text, join, seconds) => {
  const at = new Date(text);
  const two = (...parts) => parts.map((each) => String(each).padStart(2, "0"));
  const day = [at.getFullYear().toString().padStart(4, "0"), ...two(at.getMonth() + 1, at.getDate())].join("-");
  const time = two(at.getHours(), at.getMinutes(), ...(seconds ? [at.getSeconds()] : [])).join(":");
  return `${day}${join}${time}`;
};
const sayMoments = (root) => {
  for (const each of root.querySelectorAll("time[datetime]")) {
    each.title = each.textContent;
    each.textContent = inZone(each.dateTime, " ", /:\d\d:\d\d/.test(each.textContent));
  }
};
sayMoments(document);
for (const own of document.querySelectorAll("input[name=zone]")) {
  if (!zone || own.value === zone) continue;
  own.value = zone;
  for (const each of own.form.querySelectorAll("[data-zone]")) each.textContent = zone;
  for (const each of own.form.querySelectorAll("input[data-utc]")) {
    const [, seconds, part] = /T\d\d:\d\d:(\d\d)(\.\d+)?Z$/.exec(each.dataset.utc) ?? [];
    if (seconds) each.value = inZone(each.dataset.utc, "T", part || seconds !== "00") + (part ?? "").replace(/0+$/, "");
  }
}

// Shows what a form would do while it is filled in: the same page, asked for by its button "Show", whose parts are taken
// over. Without this script the button does it.
for (const form of document.querySelectorAll("form[data-live]")) {
  let waiting, asked;

  const take = (page, id) => {
    const fresh = page.getElementById(id);
    if (!fresh) return;
    sayMoments(fresh);
    document.getElementById(id).replaceChildren(...fresh.childNodes);
  };

  // Another kind of row has other fields: those behind its own part, where the focus is not.
  const takeParts = (page) => {
    const [own, fresh] = [form, page].map((each) => [...each.querySelectorAll("[data-parts] > fieldset")].slice(1));
    if (!fresh.length || own.some((each) => each.contains(document.activeElement))) return;
    fresh.forEach(sayMoments);
    own[0].before(...fresh);
    own.forEach((each) => each.remove());
  };

  const show = async (isOther) => {
    asked?.abort();
    asked = new AbortController();
    const body = new URLSearchParams(new FormData(form));
    body.set("do", "show");
    const text = await textOf(form.action, { method: "POST", body, signal: asked.signal });
    if (text === null) return;
    const page = new DOMParser().parseFromString(text, "text/html");
    form.dataset.live.split(" ").forEach((id) => take(page, id));
    if (isOther) takeParts(page);
  };

  form.addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 400, event.target.name === "kind");
  });
}

// Completes titles by more than those that a page brings along: by those that go on from what is typed.
const titles = document.getElementById("titles");
if (titles?.dataset.more) {
  const own = [...titles.children];
  let waiting, asked;

  const complete = async (text) => {
    asked?.abort();
    asked = new AbortController();
    if (!text) return titles.replaceChildren(...own);
    const answer = await textOf(`${titles.dataset.more}&q=${encodeURIComponent(text)}`, { signal: asked.signal });
    const found = answer && new DOMParser().parseFromString(answer, "text/html").getElementById("titles");
    if (found) titles.replaceChildren(...found.childNodes);
  };

  document.addEventListener("input", (event) => {
    if (event.target.getAttribute("list") !== "titles") return;
    clearTimeout(waiting);
    waiting = setTimeout(complete, 200, event.target.value.trim());
  });
}

// Values of a field to choose from come once it is chosen; what is chosen joins the value that is typed beside it.
// Without this script "+" brings them, and the server joins them.
for (const form of document.querySelectorAll("form[data-choices]")) {
  const valuesOf = (field) => field.closest("[role=group]").querySelector("[data-values]");

  form.addEventListener("change", async (event) => {
    const { field: key, row } = event.target.dataset;
    if (!key) return;
    const query = new URLSearchParams({ field: event.target.value, of: key, row });
    const text = await textOf(`${form.dataset.choices}&${query}`);
    const fresh = text && new DOMParser().parseFromString(text, "text/html").querySelector("[data-values]");
    if (fresh && event.target.value === query.get("field")) valuesOf(event.target).replaceChildren(...fresh.childNodes);
  });

  // Not sooner: by keyboard a choice passes others on its way.
  form.addEventListener("focusout", (event) => {
    const choice = event.target;
    if (!choice.name?.endsWith(".choice") || !choice.value) return;
    const typed = choice.closest("[role=group]").querySelector("[name$='.value']");
    const added = /^"|^\s|\s$|,/.test(choice.value) ? JSON.stringify(choice.value) : choice.value;
    typed.value = typed.value.trim() ? `${typed.value}, ${added}` : added;
    choice.value = "";
  });
}
