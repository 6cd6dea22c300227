// What the theme leaves out for keyboards and screen readers: tables that scroll take the focus, what unfolds has a name,
// and the name of the search button is what stands on it.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".bd-article table"))
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
  for (const summary of document.querySelectorAll("summary:has(.toctree-toggle)"))
    summary.setAttribute("aria-label", "Pages below");
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
});
