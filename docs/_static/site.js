// What the theme leaves out for keyboards and screen readers: what scrolls takes the focus, heads of tables are not empty,
// what unfolds has a name, and the name of the search button is what stands on it.
document.addEventListener("DOMContentLoaded", () => {
  for (const wide of document.querySelectorAll(".bd-article :is(table, p:has(> img.wide))"))
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
  for (const head of document.querySelectorAll(".bd-article th"))
    if (!head.textContent.trim()) head.replaceWith(Object.assign(document.createElement("td"), { className: head.className }));
  for (const summary of document.querySelectorAll("summary:has(.toctree-toggle)"))
    summary.setAttribute("aria-label", "Pages below");
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
});
