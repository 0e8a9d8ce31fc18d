import { PROVIDERS } from '@retake/tape'
import type { Route } from './routes.js'

/**
 * Variables that describe the user's login session: key agents, desktop, terminal, editor. They are
 * not part of a run. The XDG folders are, because programs find their settings there.
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

/** The session variables of an environment; a replayed command gets its own. */
export const sessionVariables = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => isSessionVariable(name)))

export const withoutSession = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !isSessionVariable(name)))

export interface RedirectedVariables {
  readonly routes: readonly Route[]
  /** Path at the proxy for each variable, for example `OPENAI_BASE_URL`: `/openai/v1`. */
  readonly variables: Readonly<Record<string, string>>
}

/**
 * Points the variables that provider SDKs read at the proxy. The target of a provider is the
 * previous value of its variable, otherwise its entry in `upstreams`, otherwise its public address.
 * An upstream without a known SDK gets a variable named after it: `ACME_BASE_URL` for `acme`.
 * Readers disagree about which alias wins, so an unset alias follows the one that is set. Next to a
 * variable of a framework it stays unset: its path is unknown, and the public address would not be
 * the host that the user chose.
 */
export function redirectVariables(
  env: NodeJS.ProcessEnv,
  upstreams: readonly Route[] = [],
): RedirectedVariables {
  const routes: Route[] = [...upstreams]
  const variables: Record<string, string> = {}
  const addresses = PROVIDERS.flatMap(
    ({ address }) => (address?.within === undefined ? address : address.within(env)) ?? [],
  )
  for (const { route: name, base, variables: always = [], whenSet = [] } of addresses) {
    const given = upstreams.find((route) => route.name === name)?.upstream
    const set = (names: readonly string[]): string | undefined =>
      names.map((variable) => addressIn(env[variable])).find((address) => address !== undefined)
    const isPublic = given !== undefined || set(whenSet) === undefined
    const fallback = set(always) ?? (isPublic ? base : undefined)
    for (const variable of [...always, ...whenSet]) {
      const before = addressIn(env[variable]) ?? (always.includes(variable) ? fallback : undefined)
      const target = before && given ? withPathOf(before, given) : before
      if (target !== undefined) variables[variable] = redirect(routes, name, new URL(target))
    }
  }
  for (const { name } of upstreams) {
    const isLedTo = Object.values(variables).some((path) => path.split('/')[1] === name)
    if (!isLedTo) variables[`${name.toUpperCase().replaceAll(/\W/g, '_')}_BASE_URL`] = `/${name}`
  }
  return { routes, variables }
}

/** A bare `host:port`, as in `OLLAMA_HOST`, is an address, too. */
function addressIn(value: string | undefined): string | undefined {
  if (value === undefined || value === '') return undefined
  const text = /^https?:\/\//i.test(value) ? value : `http://${value}`
  return URL.canParse(text) ? text : undefined
}

/** The given upstream, with the base path that SDKs expect unless it has its own. */
const withPathOf = (base: string, upstream: string): string =>
  new URL(upstream).pathname === '/'
    ? upstream.replace(/\/$/, '') + new URL(base).pathname
    : upstream

function redirect(routes: Route[], name: string, target: URL): string {
  const path = target.pathname.replace(/\/+$/, '')
  const same = routes.find(
    (route) =>
      target.href.startsWith(route.upstream) &&
      new URL(route.upstream).origin === target.origin &&
      route.name.startsWith(name),
  )
  if (same)
    return `/${same.name}${path.slice(new URL(same.upstream).pathname.replace(/\/$/, '').length)}`
  const taken = routes.filter((route) => route.name.startsWith(name)).length
  const route = { name: taken === 0 ? name : `${name}-${taken + 1}`, upstream: target.origin }
  routes.push(route)
  return `/${route.name}${path}`
}
