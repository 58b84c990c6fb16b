// Light, dark, or as the system says. The choice is kept in the browser.

const KEY = "eidolon.theme";
const NAMES = {auto: "Auto", light: "Light", dark: "Dark"};

function stored() {
  try {
    const theme = localStorage.getItem(KEY);
    return theme in NAMES ? theme : "auto";
  } catch {
    return "auto";
  }
}

function apply(theme, button) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  button.textContent = `${{auto: "◐", light: "☀", dark: "☾"}[theme]} ${NAMES[theme]}`;
  button.setAttribute("aria-label", `Colours: ${NAMES[theme]}. Change`);
}

/** Makes a button switch between the three. */
export function bindTheme(button) {
  apply(stored(), button);
  button.addEventListener("click", () => {
    const names = Object.keys(NAMES);
    const next = names[(names.indexOf(stored()) + 1) % names.length];
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Private windows may keep nothing.
    }
    apply(next, button);
  });
}
