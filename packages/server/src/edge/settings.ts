import path from 'node:path'
import { serverErrors } from './errors.js'

interface Setting<T> {
  readonly about: string
  /** Parses the text, which is undefined if the setting is missing. Throws `Expected` if it is invalid. */
  readonly read: (text: string | undefined) => T
  /** How the default is shown; missing if there is none. */
  readonly shown?: string | undefined
  /** Never printed. */
  readonly secret?: true
}

class Expected extends Error {}
const expected = (what: string): never => {
  throw new Expected(what)
}

const secret = <T>(setting: Setting<T>): Setting<T> => ({ ...setting, secret: true })

const text = (about: string, fallback: string): Setting<string> => ({
  about,
  read: (given) => given ?? fallback,
  shown: fallback,
})

const optional = (about: string): Setting<string | undefined> => ({ about, read: (given) => given })

const whole = (
  about: string,
  fallback: number,
  [min, max = Number.MAX_SAFE_INTEGER]: readonly [min: number, max?: number],
): Setting<number> => ({
  about,
  read: (given = String(fallback)) => {
    const value = Number(given)
    return Number.isInteger(value) && value >= min && value <= max
      ? value
      : expected(`a whole number from ${min} to ${max}`)
  },
  shown: String(fallback),
})

const address = (
  about: string,
  shown?: string,
  protocols: readonly string[] = ['http:', 'https:'],
): Setting<URL | undefined> => ({
  about,
  read: (given) => {
    if (given === undefined) return undefined
    const url = URL.canParse(given) ? new URL(given) : undefined
    return url !== undefined && protocols.includes(url.protocol)
      ? url
      : expected(`an address that starts with ${protocols.map((each) => `${each}//`).join(' or ')}`)
  },
  shown,
})

const onOff = (about: string): Setting<boolean> => ({
  about,
  read: (given = 'off') => given === 'on' || (given !== 'off' && expected('"on" or "off"')),
  shown: 'off',
})

const database: Setting<URL | undefined> = {
  about: 'your own PostgreSQL, with a user that can create roles; sslmode=require for TLS',
  read: (given) => {
    const url = address('', '', ['postgres:', 'postgresql:']).read(given)
    const mode = url?.searchParams.get('sslmode') ?? 'disable'
    // Other modes allow a connection without TLS.
    return /^(?:disable|require|verify-ca|verify-full)$/.test(mode)
      ? url
      : expected('sslmode=require, or sslmode=disable')
  },
  shown: 'a PostgreSQL in the data folder',
}

/** All settings, in the order of `retake server config`. */
const table = {
  data: {
    about: 'data folder: database, stored runs, keys, backups',
    read: (given: string | undefined) => path.resolve(given ?? 'retake-data'),
    shown: './retake-data',
  },
  host: text('address to listen on', '127.0.0.1'),
  port: whole('port to listen on; 0: any free port', 4700, [0, 65_535]),
  url: address(
    'public address, with the path if the server is mounted under one',
    'http://localhost:<port>',
  ),
  databaseUrl: secret(database),
  s3Url: address('S3 endpoint with bucket, for stored runs', 'files in the data folder'),
  s3Region: text('region of the bucket', 'auto'),
  s3KeyId: optional('access key ID for S3'),
  s3Secret: secret(optional('secret access key for S3')),
  smtpUrl: secret(
    address('mail server; without one, links are printed to the log', undefined, [
      'smtp:',
      'smtps:',
    ]),
  ),
  mailFrom: text('sender address of emails', 'retake@localhost'),
  oidcIssuer: address('OpenID Connect provider for single sign-on'),
  oidcTrustEmail: onOff(
    'on: trust email addresses that the provider does not mark as verified; some never do',
  ),
  oidcClientId: optional('client ID at the provider'),
  oidcClientSecret: secret(optional('client secret at the provider')),
  privateAddresses: onOff('on: allow webhooks and model endpoints in private networks'),
  gitSources: {
    about:
      'sources that jobs can fetch code from: https:// addresses and folders, separated by commas',
    read: (given = '') => given.split(',').flatMap((each) => each.trim() || []),
  },
  trustProxy: onOff('on: read client addresses from X-Forwarded-For'),
  workers: whole(
    'jobs that the server runs concurrently; 0: use only `retake worker` elsewhere',
    1,
    [0, 64],
  ),
  workerToken: secret({
    about: 'token for `retake worker`; at least 32 characters',
    read: (given) =>
      given !== undefined && given.length < 32 ? expected('at least 32 characters') : given,
  }),
  metricsToken: secret(
    optional('bearer token for /metrics; without it, only loopback clients can read them'),
  ),
  requestsPerMinute: whole('request limit per client', 1200, [1]),
  maxFileBytes: whole('maximum size of a file in a run', 2 ** 31, [1]),
  quotaBytes: whole('storage quota of each organization', 100 * 2 ** 30, [1]),
  organizationsPerOwner: whole(
    'organizations that a person may own; only owners can create more, up to this number',
    3,
    [1],
  ),
  retentionFloorDays: whole(
    'minimum number of days to keep every run, whatever its project says',
    0,
    [0],
  ),
  log: {
    about: '"json": one line of JSON per message',
    read: (given: string | undefined = 'text') =>
      given === 'text' || given === 'json' ? given : expected('"json" or "text"'),
    shown: 'text',
  },
} satisfies Readonly<Record<string, Setting<unknown>>>

export type Settings = {
  readonly [Name in keyof typeof table]: ReturnType<(typeof table)[Name]['read']>
}

export type SettingName = keyof typeof table

export interface ListedSetting {
  readonly name: SettingName
  readonly env: string
  readonly about: string
  readonly value?: string
  readonly default?: string
  readonly from: 'option' | 'environment' | 'default'
}

type Given = Readonly<Partial<Record<SettingName, string | undefined>>>
type Environment = Readonly<Record<string, string | undefined>>

/** Reads all settings. Options override variables; an empty variable counts as missing. */
export function readSettings(options: Given, env: Environment): Settings {
  const entries = givenSettings(options, env).map(({ name, variable, value, setting }) => {
    try {
      return [name, setting.read(value)]
    } catch (error) {
      if (!(error instanceof Expected)) throw error
      const shown = setting.secret ? '(hidden)' : (value ?? '')
      throw serverErrors.SETTING_INVALID(variable, shown, error.message)
    }
  })
  return Object.fromEntries(entries) as Settings
}

/** Every setting with its value and source. Secrets are hidden. */
export const listSettings = (options: Given, env: Environment): ListedSetting[] =>
  givenSettings(options, env).map(({ name, variable, value, setting }) => ({
    name,
    env: variable,
    about: setting.about,
    ...(value !== undefined && { value: setting.secret ? '(hidden)' : value }),
    ...(setting.shown !== undefined && { default: setting.shown }),
    from: options[name] !== undefined ? 'option' : value !== undefined ? 'environment' : 'default',
  }))

const givenSettings = (options: Given, env: Environment) =>
  Object.entries(table).map(([key, setting]: [string, Setting<unknown>]) => {
    const name = key as SettingName
    // The environment variable of a setting: `RETAKE_S3_KEY_ID` for `s3KeyId`.
    const variable =
      name === 'databaseUrl'
        ? 'DATABASE_URL'
        : `RETAKE_${name.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`
    return { name, variable, setting, value: options[name] ?? (env[variable] || undefined) }
  })
