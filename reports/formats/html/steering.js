"use strict";
/* Pointer and keys choose a point of a chart. xs() are the places of its points, at() is the one that is chosen. */
const steer = (box, xs, at, show, hide) => {
  const nearest = (x) => xs().reduce((best, each, i, all) => Math.abs(each - x) < Math.abs(all[best] - x) ? i : best, 0);
  const follow = (event) => {
    const area = box.getBoundingClientRect();
    show(nearest((event.clientX - area.left) / area.width));
  };
  box.addEventListener("pointermove", follow);
  box.addEventListener("pointerdown", follow);
  box.addEventListener("pointerleave", hide);
  box.addEventListener("blur", hide);
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) { show(Math.max(0, Math.min(xs().length - 1, at() + step))); event.preventDefault(); }
    if (event.key === "Escape") hide();
  });
};
