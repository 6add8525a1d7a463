// Tables that a reader keeps in the browser: names and addresses, no numbers; they never leave it.

const nav = () => document.querySelector("[data-saved]");
const key = () => `statveil saved ${nav().dataset.saved}`;

function kept() {
  try {
    const found = JSON.parse(localStorage.getItem(key()) ?? "[]");
    return Array.isArray(found) ? found.filter((each) => typeof each?.name === "string" && typeof each?.address === "string") : [];
  } catch {
    return [];
  }
}

function keep(tables) {
  localStorage.setItem(key(), JSON.stringify(tables));
  showSaved();
}

export function showSaved() {
  const [list, tables] = [nav()?.querySelector("ul"), nav() ? kept() : []];
  if (!list) return;
  for (const old of list.querySelectorAll(".own")) old.remove();
  for (const each of tables) {
    const item = Object.assign(document.createElement("li"), { className: "own" });
    const link = Object.assign(document.createElement("a"), { href: `${nav().dataset.here}?${each.address}`, textContent: each.name });
    const forget = Object.assign(document.createElement("button"), { type: "button", className: "plain-button", textContent: "forget" });
    forget.setAttribute("aria-label", `Forget ${each.name}`);
    forget.onclick = () => keep(kept().filter((one) => one.name !== each.name));
    item.append(link, " ", forget);
    list.append(item);
  }
  nav().hidden = !list.children.length;
}

export function prepareSaved(say) {
  const form = document.getElementById("keep");
  if (!form) return;
  form.onsubmit = (event) => {
    event.preventDefault();
    const name = document.getElementById("keep-name").value.trim();
    try {
      keep([...kept().filter((each) => each.name !== name), { name, address: form.dataset.address }]);
      say(`The table is saved in this browser as ${name}.`);
    } catch {
      say("This browser keeps nothing here. Keep the address of the page instead.");
    }
  };
  form.hidden = false;
}
