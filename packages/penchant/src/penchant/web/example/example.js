/** The example's own script: why a row is not there, who signs the person when an hour is over, and what a like does. */

import { clientOf, configure } from "../elements.js";

addEventListener("penchant-error", ({ target: row, detail: { error } }) => {
  row.querySelector("[slot=empty]")?.remove();
  const textContent = `${row.getAttribute("heading")}: ${error.message}`;
  row.append(Object.assign(document.createElement("p"), { slot: "empty", role: "alert", textContent }));
});

const query = document.querySelector("script[data-query]").dataset.query;
const isSomebody = new URLSearchParams(query).get("person") !== "";
if (isSomebody) configure({ user: async () => (await fetch(new URL(`signed?${query}`, import.meta.url))).json() });

const button = document.querySelector("button[data-id]");
const status = document.querySelector("[role=status]");
if (button !== null) button.disabled = !isSomebody;
button?.addEventListener("click", async () => {
  const { source, id } = button.dataset;
  const client = clientOf();
  const person = await client.person();
  const isLiked = button.getAttribute("aria-pressed") === "true";
  try {
    if (isLiked) await client.takeBack(source, person, "RateLike", id);
    else await client.recordInteraction(source, person, "RateLike", id);
    button.setAttribute("aria-pressed", String(!isLiked));
    await Promise.all([...document.querySelectorAll("penchant-row")].map((row) => row.reload()));
    status.textContent = isLiked ? "Taken back; the rows know." : "Noted; the rows below know.";
  } catch (error) {
    status.textContent = `That failed: ${error.message}`;
  }
});
