/* What a page does beside its links and forms, which work without this: the slider tells its instant while it moves and
   asks when it is let go, the page changes in place, companies are suggested, texts can be copied, a run shows its steps as they come. */
"use strict";

function day(number) {
  const options = {day: "numeric", month: "short", year: "numeric", timeZone: "UTC"};
  return new Date((number - EPOCH) * 86400000).toLocaleDateString("en-GB", options);
}

async function show(address, push) {
  document.body.classList.add("busy");
  try {
    const answer = await fetch(address, {headers: {accept: "text/html"}});
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.title = page.title;
    document.body.replaceWith(page.body);
    if (push) history.pushState(null, "", answer.url);
    shown = location.pathname + location.search;
    dress();
  } catch {
    location.href = address;
  }
}

const EPOCH = 719163; // 1 January 1970 as the slider counts days, 1 January of the year 1 being 1

function slide(part, form) {
  const slider = part.querySelector("input[type=range]"), told = part.querySelector("output");
  const today = EPOCH + Math.floor(Date.now() / 86400000);
  slider.addEventListener("input", () => {
    if (Number(slider.value) > today) slider.value = today;
    told.value = day(Number(slider.value)) + ", " + slider.dataset.clock;
    slider.setAttribute("aria-valuetext", told.value);
  });
  slider.addEventListener("change", () => form.requestSubmit());
}

/* Companies whose name, ticker or CIK has what was typed, as they were known at the page's instant. */
function suggest(box, form) {
  let waits;
  box.addEventListener("input", () => {
    clearTimeout(waits);
    waits = setTimeout(async () => {
      const asked = new URLSearchParams({as_of: form.elements["as_of"].value, q: box.value.trim()});
      const answer = await fetch("/companies.json?" + asked).catch(() => null);
      if (!answer || !answer.ok) return;
      const named = (await answer.json()).found.slice(0, 12);
      box.list.replaceChildren(...named.map((one) => new Option(one.name || one.ticker, one.ticker || one.cik)));
    }, 200);
  });
}

function dress() {
  for (const form of document.querySelectorAll("form[data-in-place]")) {
    for (const part of form.querySelectorAll(".slide")) slide(part, form);
    for (const box of form.querySelectorAll("input[list]")) suggest(box, form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      show(form.action + "?" + new URLSearchParams(new FormData(form)), true);
    });
  }
  for (const link of document.querySelectorAll(".moves a")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      show(link.href, true);
    });
  }
  for (const text of document.querySelectorAll(".copies pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copyit";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    });
    text.previousElementSibling.append(button);
  }
}

/* A run under way is asked for again, until it ends. */
async function follow() {
  const live = document.querySelector("[data-live]");
  if (!live) return;
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const answer = await fetch(location.href, {headers: {accept: "text/html"}}).catch(() => null);
  if (!answer) return follow();
  const next = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(live.id);
  if (!next || next.dataset.live === undefined) return location.reload();
  live.replaceWith(next);
  follow();
}

/* A link to a part of the page fires popstate too: the page stays then, or what the link has unfolded would fold again. */
let shown = location.pathname + location.search;
window.addEventListener("popstate", () => {
  if (location.pathname + location.search !== shown) show(location.href, false);
});
dress();
follow();
