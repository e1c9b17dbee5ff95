/* What a page does beside its links and forms, which work without this: the slider tells its instant while it moves and
   asks when it is let go, the page changes in place, texts can be copied, a run shows its steps as they come. */
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

function slide(form) {
  const slider = form.querySelector("input[type=range]"), told = form.querySelector(".slide output");
  if (!slider) return;
  const today = EPOCH + Math.floor(Date.now() / 86400000);
  slider.addEventListener("input", () => {
    if (Number(slider.value) > today) slider.value = today;
    told.value = day(Number(slider.value)) + ", " + slider.dataset.clock;
    slider.setAttribute("aria-valuetext", told.value);
  });
  slider.addEventListener("change", () => form.requestSubmit());
}

function dress() {
  for (const form of document.querySelectorAll("form[data-in-place]")) {
    slide(form);
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
