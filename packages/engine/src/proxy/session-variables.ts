/**
 * Variables that describe the user's login session: key agents, desktop, terminal,
 * editor. They are not part of a run. The XDG folders stay, because programs find
 * their settings there.
 */
const OF_SESSION = [
  /^(SSH|GPG|DBUS|ITERM|KITTY|WEZTERM|ALACRITTY|KONSOLE|TMUX|ZELLIJ|VSCODE|CURSOR|NVIM|JETBRAINS|IDEA)_/,
  /^(TERM_PROGRAM|TERM_SESSION|GNOME_TERMINAL|TERMINAL_EMULATOR|VTE_VERSION|WT_)/,
  /^XDG_(SESSION_\w+|RUNTIME_DIR|SEAT\w*|VTNR|CURRENT_DESKTOP|MENU_PREFIX|ACTIVATION_TOKEN)$/,
  /^(TMUX|STY|NVIM|VIM|VIMRUNTIME|INSIDE_EMACS|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|WINDOWID)$/,
  /^(DESKTOP_SESSION|SESSION_MANAGER|SECURITYSESSIONID|MAIL|LS_COLORS|OLDPWD)$/,
]

const isSessionVariable = (name: string): boolean =>
  OF_SESSION.some((pattern) => pattern.test(name))

/** Those of an environment that belong to the session; a replayed command gets its own. */
export const sessionVariables = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => isSessionVariable(name)))

/** The rest. */
export const withoutSession = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !isSessionVariable(name)))
