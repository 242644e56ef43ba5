// The picture of the gap: what each part is, where most of it happened, and the way there.
"use strict";

/** Parts are told of while they are pointed at or have the focus; one that is clicked is kept. */
class Gap {
  constructor(figure, timeline, path) {
    this.parts = JSON.parse(figure.dataset.parts);
    this.bars = [...figure.querySelectorAll("a.part")];
    this.places = [timeline, path];
    this.chosen = -1;
    this.told = element("div", "told");
    this.told.setAttribute("role", "status");
    figure.append(this.told);
    this.bars.forEach((bar, i) => {
      bar.addEventListener("pointerenter", () => this.tell(i));
      bar.addEventListener("pointerleave", () => this.tell(this.chosen));
      bar.addEventListener("focus", () => this.tell(i));
      bar.addEventListener("click", (event) => {
        event.preventDefault();
        this.choose(i);
      });
      bar.addEventListener("keydown", (event) => this.key(event, i));
    });
    this.tell(-1);
  }

  key(event, i) {
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: this.bars.length - 1 }[event.key];
    if (event.key === "Escape") this.choose(-1);
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.bars[to]?.focus();
  }

  choose(i) {
    this.chosen = i;
    this.bars.forEach((bar, at) => bar.classList.toggle("chosen", at === i));
    this.tell(i);
  }

  tell(i) {
    if (i < 0) {
      this.told.replaceChildren(element("p", "note", "Pointing at a bar tells what it is; a click keeps that, with the way to where most of it happened."));
      return;
    }
    const { name, value, text, steps, sections } = this.parts[i];
    const list = element("ul", "");
    for (const step of steps) {
      const button = linkTo("", () => this.goTo(step));
      button.append(`${step.time} in `, isolated(step.name), `, ${step.label}, iteration ${step.iteration}`);
      list.append(element("li", "", button));
    }
    this.told.replaceChildren(element("strong", "", `${name} ${value}`), element("p", "note", text));
    if (steps.length > 0) this.told.append(list);
    const section = sections.map(sectionOf).find((found) => found);
    if (!section) return;
    const title = `more in “${section.querySelector("h2").textContent}”`;
    this.told.append(element("p", "", linkTo(title, () => section.scrollIntoView({ block: "start" }))));
  }

  /** To the execution in the timeline, else among the steps of the path, which has those that the other left out. */
  goTo({ rank, iteration, node }) {
    for (const view of this.places) {
      const row = view?.operations.find(rank, iteration, node) ?? -1;
      if (row >= 0) return view.goTo(row);
    }
    this.told.append(element("p", "note", "This operation is not among those of the timeline."));
  }
}

/** A text that leads somewhere. */
function linkTo(text, act) {
  const button = element("button", "jump", text);
  button.type = "button";
  button.addEventListener("click", act);
  return button;
}

/** The section with a title, or undefined. */
function sectionOf(title) {
  return [...document.querySelectorAll("section")].find((section) => section.querySelector("h2").textContent === title);
}

/** That of the run, and those of jobs; nothing where the page has no gap. */
function startGap(timeline, path) {
  for (const figure of document.querySelectorAll("figure.fall")) new Gap(figure, timeline, path);
}
